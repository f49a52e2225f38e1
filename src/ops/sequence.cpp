#include "ops/sequence.h"

#include "ops/infer_common.h"

namespace tutti::ops {
namespace {

using ir::Datum;
using ir::Dim;
using ir::DType;
using ir::EvalContext;
using ir::InferContext;
using ir::Shape;
using ir::Tensor;
using ir::ValueType;

Status expect_sequence(const InferContext& context, int i) {
  if (context.input(i).kind == ValueType::Kind::kSequence && !context.input(i).is_optional) return ok_status();
  return make_error(Code::kInvalidModel, "input {} is {}, expected a sequence", i, context.input(i).text());
}

Status expect_position(const InferContext& context, int i) {
  if (!context.has_input(i)) return ok_status();
  return expect_kind(context, i, is_int32_or_int64, "int32 or int64");
}

Result<const Datum::Sequence*> sequence_of(const EvalContext& context, int i) {
  if (context.has_input(i) && context.datum(i).is_sequence()) return &context.datum(i).sequence();
  return make_error(Code::kInvalidInput, "input {} is not a sequence", i);
}

// The position held by input `i`, counted from the end when negative; `limit` itself is allowed only for insertion.
Result<size_t> position_of(const EvalContext& context, int i, size_t length, bool insertion) {
  const Tensor& tensor = context.input(i);
  if (tensor.size() != 1)
    return make_error(Code::kInvalidInput, "the position is {}, expected one integer", tensor.type_text());
  const int64_t n = static_cast<int64_t>(length), given = tensor.get_int(0);
  const int64_t position = given < 0 ? given + n : given;
  if (position < 0 || position > (insertion ? n : n - 1))
    return make_error(Code::kInvalidInput, "position {} is outside a sequence of {} tensors", given, length);
  return static_cast<size_t>(position);
}

// The elements' common shape stays known only while all are provably equal.
std::optional<Shape> common_shape(const std::optional<Shape>& a, const std::optional<Shape>& b) {
  return a && b && *a == *b ? a : std::nullopt;
}

Status infer_at(InferContext& context) {
  TUTTI_TRY(expect_sequence(context, 0));
  TUTTI_TRY(expect_position(context, 1));
  context.set_output(0, ValueType::tensor(context.dtype(0), context.shape(0)));
  return ok_status();
}

Status eval_at(EvalContext& context) {
  const auto& sequence = *TUTTI_TRY(sequence_of(context, 0));
  context.set_output(0, Datum(sequence[TUTTI_TRY(position_of(context, 1, sequence.size(), false))]));
  return ok_status();
}

Status infer_construct(InferContext& context) {
  ValueType type = ValueType::sequence(context.dtype(0), context.shape(0));
  for (int i = 0; i < context.input_count(); ++i) {
    TUTTI_TRY(expect_tensor(context, i));
    TUTTI_TRY(expect_same_dtype(context, 0, i));
    type.shape = common_shape(type.shape, context.shape(i));
  }
  context.set_output(0, std::move(type));
  return ok_status();
}

Status eval_construct(EvalContext& context) {
  Datum::Sequence sequence;
  for (int i = 0; i < context.input_count(); ++i) {
    if (!context.has_input(i) || !context.datum(i).is_tensor())
      return make_error(Code::kInvalidInput, "input {} is not a tensor", i);
    sequence.push_back(context.input(i));
  }
  context.set_output(0, Datum(std::move(sequence)));
  return ok_status();
}

Status infer_empty(InferContext& context) {
  context.set_output(0, ValueType::sequence(context.attrs<SequenceEmptyAttrs>().dtype));
  return ok_status();
}

Status eval_empty(EvalContext& context) {
  context.set_output(0, Datum(Datum::Sequence{}));
  return ok_status();
}

Status infer_erase(InferContext& context) {
  TUTTI_TRY(expect_sequence(context, 0));
  TUTTI_TRY(expect_position(context, 1));
  context.set_output(0, context.input(0));
  return ok_status();
}

Status eval_erase(EvalContext& context) {
  Datum::Sequence sequence = *TUTTI_TRY(sequence_of(context, 0));
  if (sequence.empty()) return Error(Code::kInvalidInput, "SequenceErase was given an empty sequence");
  const size_t position =
      context.has_input(1) ? TUTTI_TRY(position_of(context, 1, sequence.size(), false)) : sequence.size() - 1;
  sequence.erase(sequence.begin() + static_cast<ptrdiff_t>(position));
  context.set_output(0, Datum(std::move(sequence)));
  return ok_status();
}

Status infer_insert(InferContext& context) {
  TUTTI_TRY(expect_sequence(context, 0));
  TUTTI_TRY(expect_tensor(context, 1));
  TUTTI_TRY(expect_same_dtype(context, 0, 1));
  TUTTI_TRY(expect_position(context, 2));
  context.set_output(0, ValueType::sequence(context.dtype(0), common_shape(context.shape(0), context.shape(1))));
  return ok_status();
}

Status eval_insert(EvalContext& context) {
  Datum::Sequence sequence = *TUTTI_TRY(sequence_of(context, 0));
  const size_t position =
      context.has_input(2) ? TUTTI_TRY(position_of(context, 2, sequence.size(), true)) : sequence.size();
  sequence.insert(sequence.begin() + static_cast<ptrdiff_t>(position), context.input(1));
  context.set_output(0, Datum(std::move(sequence)));
  return ok_status();
}

Status infer_length(InferContext& context) {
  TUTTI_TRY(expect_sequence(context, 0));
  context.set_output(0, DType::kInt64, Shape{});
  return ok_status();
}

Status eval_length(EvalContext& context) {
  context.set_output(0, Tensor::scalar<int64_t>(static_cast<int64_t>(TUTTI_TRY(sequence_of(context, 0))->size())));
  return ok_status();
}

// --- optional

Status infer_optional(InferContext& context) {
  const auto& attrs = context.attrs<OptionalAttrs>();
  ValueType type = attrs.sequence ? ValueType::sequence(attrs.dtype) : ValueType::tensor(attrs.dtype, {});
  if (context.has_input(0)) type = context.input(0);
  type.is_optional = true;
  context.set_output(0, std::move(type));
  return ok_status();
}

Status eval_optional(EvalContext& context) {
  context.set_output(0, context.has_input(0) ? context.datum(0) : Datum());
  return ok_status();
}

Status infer_get_element(InferContext& context) {
  ValueType type = context.input(0);
  type.is_optional = false;
  context.set_output(0, std::move(type));
  return ok_status();
}

Status eval_get_element(EvalContext& context) {
  if (!context.has_input(0))
    return Error(Code::kInvalidInput, "OptionalGetElement was given an optional without a value");
  context.set_output(0, context.datum(0));
  return ok_status();
}

Status infer_has_element(InferContext& context) {
  context.set_output(0, DType::kBool, Shape{});
  return ok_status();
}

Status eval_has_element(EvalContext& context) {
  context.set_output(0, Tensor::scalar<bool>(context.has_input(0)));
  return ok_status();
}

}  // namespace

using ir::Tolerance;

const ir::OpDef kSequenceAt{.name = "SequenceAt",
                            .min_inputs = 2,
                            .max_inputs = 2,
                            .infer = infer_at,
                            .eval = eval_at,
                            .tolerance = Tolerance::kExact};
const ir::OpDef kSequenceConstruct{.name = "SequenceConstruct",
                                   .min_inputs = 1,
                                   .max_inputs = ir::kAnyCount,
                                   .infer = infer_construct,
                                   .eval = eval_construct,
                                   .tolerance = Tolerance::kExact};
const ir::OpDef kSequenceEmpty{.name = "SequenceEmpty",
                               .make_attrs = ir::make_attrs<SequenceEmptyAttrs>,
                               .infer = infer_empty,
                               .eval = eval_empty,
                               .tolerance = Tolerance::kExact};
const ir::OpDef kSequenceErase{.name = "SequenceErase",
                               .min_inputs = 1,
                               .max_inputs = 2,
                               .infer = infer_erase,
                               .eval = eval_erase,
                               .tolerance = Tolerance::kExact};
const ir::OpDef kSequenceInsert{.name = "SequenceInsert",
                                .min_inputs = 2,
                                .max_inputs = 3,
                                .infer = infer_insert,
                                .eval = eval_insert,
                                .tolerance = Tolerance::kExact};
const ir::OpDef kSequenceLength{.name = "SequenceLength",
                                .min_inputs = 1,
                                .max_inputs = 1,
                                .infer = infer_length,
                                .eval = eval_length,
                                .tolerance = Tolerance::kExact};
const ir::OpDef kOptional{.name = "Optional",
                          .min_inputs = 0,
                          .max_inputs = 1,
                          .make_attrs = ir::make_attrs<OptionalAttrs>,
                          .infer = infer_optional,
                          .eval = eval_optional,
                          .tolerance = Tolerance::kExact};
const ir::OpDef kOptionalGetElement{.name = "OptionalGetElement",
                                    .min_inputs = 1,
                                    .max_inputs = 1,
                                    .infer = infer_get_element,
                                    .eval = eval_get_element,
                                    .tolerance = Tolerance::kExact};
const ir::OpDef kOptionalHasElement{.name = "OptionalHasElement",
                                    .min_inputs = 0,
                                    .max_inputs = 1,
                                    .infer = infer_has_element,
                                    .eval = eval_has_element,
                                    .tolerance = Tolerance::kExact};

}  // namespace tutti::ops
