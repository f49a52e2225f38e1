#include <algorithm>

#include "ops/elements.h"
#include "ops/infer_common.h"
#include "ops/sequence.h"

namespace tutti::ops {
namespace {

using ir::Datum;
using ir::Dim;
using ir::EvalContext;
using ir::InferContext;
using ir::Shape;
using ir::Tensor;
using ir::ValueType;

Status infer_split(InferContext& context) {
  const auto& attrs = context.attrs<SplitToSequenceAttrs>();
  TUTTI_TRY(expect_tensor(context, 0));
  if (context.has_input(1)) TUTTI_TRY(expect_kind(context, 1, is_int32_or_int64, "int32 or int64"));
  ValueType type = ValueType::sequence(context.dtype(0));
  if (context.shape(0)) {
    const auto axis = static_cast<size_t>(TUTTI_TRY(axis_of(context, 0, attrs.axis)));
    if (!context.has_input(1)) {
      Shape shape = *context.shape(0);
      shape[axis] = Dim(1);
      if (!attrs.keepdims) shape.erase(shape.begin() + static_cast<ptrdiff_t>(axis));
      type.shape = std::move(shape);
    }
  }
  context.set_output(0, std::move(type));
  return ok_status();
}

// The extents of the parts of an axis of `total` elements.
Result<std::vector<int64_t>> part_lengths(const EvalContext& context, int64_t total) {
  if (!context.has_input(1)) return std::vector<int64_t>(static_cast<size_t>(total), 1);
  const Tensor& split = context.input(1);
  std::vector<int64_t> lengths;
  if (split.rank() == 0) {
    const int64_t length = split.get_int(0);
    if (length < 1) return make_error(Code::kInvalidInput, "the input split is {}, expected a positive length", length);
    for (int64_t at = 0; at < total; at += std::min(length, total - at))
      lengths.push_back(std::min(length, total - at));
    return lengths;
  }
  lengths = split.to_int64();
  int64_t left = total;
  for (int64_t length : lengths) {
    if (length < 0 || length > left)
      return make_error(Code::kInvalidInput, "the lengths in split do not add up to {}", total);
    left -= length;
  }
  if (left != 0) return make_error(Code::kInvalidInput, "the lengths in split do not add up to {}", total);
  return lengths;
}

Status eval_split(EvalContext& context) {
  const auto& attrs = context.attrs<SplitToSequenceAttrs>();
  const Tensor& in = context.input(0);
  const int64_t axis = TUTTI_TRY(ir::normalize_axis(attrs.axis, in.rank()));
  const bool squeeze = !attrs.keepdims && !context.has_input(1);
  Datum::Sequence parts;
  int64_t start = 0;
  for (int64_t length : TUTTI_TRY(part_lengths(context, in.dim(axis)))) {
    parts.push_back(squeeze ? slice_at(in, axis, start) : slice_range(in, axis, start, length));
    start += length;
  }
  context.set_output(0, Datum(std::move(parts)));
  return ok_status();
}

Status infer_concat(InferContext& context) {
  const auto& attrs = context.attrs<ConcatFromSequenceAttrs>();
  if (context.input(0).kind != ValueType::Kind::kSequence)
    return make_error(Code::kInvalidModel, "input 0 is {}, expected a sequence", context.input(0).text());
  ValueType type = ValueType::tensor(context.dtype(0), context.shape(0));
  if (type.shape) {
    const int64_t axis = TUTTI_TRY(ir::normalize_axis(attrs.axis, type.rank() + (attrs.new_axis ? 1 : 0)));
    if (attrs.new_axis)
      type.shape->insert(type.shape->begin() + axis, context.fresh_dim("length"));
    else
      (*type.shape)[static_cast<size_t>(axis)] = context.fresh_dim("length");
  }
  context.set_output(0, std::move(type));
  return ok_status();
}

Status eval_concat(EvalContext& context) {
  const auto& attrs = context.attrs<ConcatFromSequenceAttrs>();
  if (!context.datum(0).is_sequence() || context.datum(0).sequence().empty())
    return Error(Code::kInvalidInput, "ConcatFromSequence was given no tensors, expected at least one");
  const auto& parts = context.datum(0).sequence();
  context.set_output(
      0, attrs.new_axis ? TUTTI_TRY(stack_tensors(parts, attrs.axis)) : TUTTI_TRY(concat_tensors(parts, attrs.axis)));
  return ok_status();
}

}  // namespace

const ir::OpDef kSplitToSequence{.name = "SplitToSequence",
                                 .min_inputs = 1,
                                 .max_inputs = 2,
                                 .make_attrs = ir::make_attrs<SplitToSequenceAttrs>,
                                 .infer = infer_split,
                                 .eval = eval_split,
                                 .tolerance = ir::Tolerance::kExact};
const ir::OpDef kConcatFromSequence{.name = "ConcatFromSequence",
                                    .min_inputs = 1,
                                    .max_inputs = 1,
                                    .make_attrs = ir::make_attrs<ConcatFromSequenceAttrs>,
                                    .infer = infer_concat,
                                    .eval = eval_concat,
                                    .tolerance = ir::Tolerance::kExact};

}  // namespace tutti::ops
