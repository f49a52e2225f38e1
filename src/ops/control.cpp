#include "ops/control.h"

#include <algorithm>

#include "ops/control_types.h"

namespace tutti::ops {
namespace {

using ir::Datum;
using ir::DType;
using ir::EvalContext;
using ir::InferContext;
using ir::Tensor;
using ir::ValueType;

ValueType input_type(const InferContext& context, int i) {
  return context.has_input(i) ? context.input(i) : ValueType{};
}

// --- If

Status infer_if(InferContext& context) {
  if (!context.has_input(0)) return Error(Code::kInvalidModel, "the condition of If: found none, expected one bool");
  if (context.dtype(0) != DType::kBool)
    return make_error(Code::kInvalidModel, "the condition of If is {}, expected one bool", context.input(0).text());
  std::vector<ValueType> captures;
  for (int i = 1; i < context.input_count(); ++i) captures.push_back(input_type(context, i));
  auto then_types = TUTTI_TRY(context.infer_body(0, captures));
  auto else_types = TUTTI_TRY(context.infer_body(1, captures));
  const auto count = static_cast<size_t>(context.output_count());
  if (then_types.size() < count || else_types.size() < count)
    return make_error(Code::kInvalidModel, "If has {} outputs, but its branches give {} and {}", count,
                      then_types.size(), else_types.size());
  BodyTypeExporter exported(context);
  for (size_t i = 0; i < count; ++i)
    context.set_output(static_cast<int>(i), TUTTI_TRY(merge_types(context, exported(std::move(then_types[i])),
                                                                  exported(std::move(else_types[i])))));
  return ok_status();
}

Status eval_if(EvalContext& context) {
  const Tensor& cond = context.input(0);
  if (cond.dtype() != DType::kBool || cond.size() != 1)
    return make_error(Code::kInvalidInput, "the condition of If is {}, expected one bool", cond.type_text());
  std::vector<Datum> captures;
  for (int i = 1; i < context.input_count(); ++i) captures.push_back(context.datum(i));
  auto results = TUTTI_TRY(context.run_body(cond.get_int(0) != 0 ? 0 : 1, captures));
  for (int i = 0; i < context.output_count() && i < static_cast<int>(results.size()); ++i)
    context.set_output(i, std::move(results[static_cast<size_t>(i)]));
  return ok_status();
}

// --- SequenceMap

Status check_additional(int64_t additional, int inputs) {
  if (additional < 0 || additional > inputs - 1)
    return make_error(Code::kInvalidModel, "SequenceMap names {} additional inputs, but has {} after the sequence",
                      additional, inputs - 1);
  return ok_status();
}

Status infer_sequence_map(InferContext& context) {
  const int64_t additional = context.attrs<SequenceMapAttrs>().additional;
  TUTTI_TRY(check_additional(additional, context.input_count()));
  if (!context.has_input(0) || context.input(0).kind != ValueType::Kind::kSequence)
    return make_error(Code::kInvalidModel, "the first input of SequenceMap is {}, expected a sequence",
                      context.has_input(0) ? context.input(0).text() : "absent");
  std::vector<ValueType> body_inputs;
  for (int i = 0; i < context.input_count(); ++i) {
    ValueType type = input_type(context, i);
    if (i <= additional && type.kind == ValueType::Kind::kSequence) type.kind = ValueType::Kind::kTensor;
    body_inputs.push_back(std::move(type));
  }
  auto results = TUTTI_TRY(context.infer_body(0, body_inputs));
  const auto count = static_cast<size_t>(context.output_count());
  if (results.size() < count)
    return make_error(Code::kInvalidModel, "SequenceMap has {} outputs, but its body gives {}", count, results.size());
  BodyTypeExporter exported(context);
  for (size_t i = 0; i < count; ++i) {
    if (!results[i].is_tensor())
      return make_error(Code::kInvalidModel, "output {} of SequenceMap's body is {}, expected a tensor", i,
                        results[i].text());
    ValueType type = exported(std::move(results[i]));
    type.kind = ValueType::Kind::kSequence;
    context.set_output(static_cast<int>(i), std::move(type));
  }
  return ok_status();
}

Status eval_sequence_map(EvalContext& context) {
  const int64_t additional = context.attrs<SequenceMapAttrs>().additional;
  TUTTI_TRY(check_additional(additional, context.input_count()));
  if (!context.datum(0).is_sequence())
    return Error(Code::kInvalidInput, "the first input of SequenceMap is not a sequence");
  const size_t length = context.datum(0).sequence().size();
  const auto count = static_cast<size_t>(context.output_count());
  std::vector<Datum::Sequence> results(count);
  for (size_t step = 0; step < length; ++step) {
    std::vector<Datum> inputs;
    for (int i = 0; i < context.input_count(); ++i) {
      const Datum& datum = context.datum(i);
      if (i > additional || !datum.is_sequence()) {
        inputs.push_back(datum);
        continue;
      }
      if (datum.sequence().size() != length)
        return make_error(Code::kInvalidInput, "input {} of SequenceMap has {} elements, the first input has {}", i,
                          datum.sequence().size(), length);
      inputs.emplace_back(datum.sequence()[step]);
    }
    auto outputs = TUTTI_TRY(context.run_body(0, inputs));
    for (size_t i = 0; i < count; ++i) {
      if (i >= outputs.size() || !outputs[i].is_tensor())
        return make_error(Code::kInvalidInput, "output {} of SequenceMap's body is not a tensor", i);
      results[i].push_back(outputs[i].tensor());
    }
  }
  for (size_t i = 0; i < count; ++i) context.set_output(static_cast<int>(i), Datum(std::move(results[i])));
  return ok_status();
}

}  // namespace

const ir::OpDef kIf{.name = "If",
                    .min_inputs = 1,
                    .max_inputs = ir::kAnyCount,
                    .max_outputs = ir::kAnyCount,
                    .infer = infer_if,
                    .eval = eval_if,
                    .tolerance = ir::Tolerance::kApproximate,
                    .traits = ir::kControl,
                    .body_count = 2};

const ir::OpDef kSequenceMap{.name = "SequenceMap",
                             .min_inputs = 1,
                             .max_inputs = ir::kAnyCount,
                             .max_outputs = ir::kAnyCount,
                             .make_attrs = ir::make_attrs<SequenceMapAttrs>,
                             .infer = infer_sequence_map,
                             .eval = eval_sequence_map,
                             .tolerance = ir::Tolerance::kApproximate,
                             .traits = ir::kControl,
                             .body_count = 1};

}  // namespace tutti::ops
