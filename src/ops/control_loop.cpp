#include <algorithm>
#include <limits>

#include "ops/control.h"
#include "ops/control_types.h"
#include "ops/elements.h"

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

Status check_carried(int64_t carried, int inputs) {
  if (carried < 0 || carried > std::max(inputs - 2, 0))
    return make_error(Code::kInvalidModel,
                      "Loop carries {} values, but has {} inputs after the trip count and the condition", carried,
                      std::max(inputs - 2, 0));
  return ok_status();
}

// Whether the body's condition can never become false: it is the constant true, or the condition it was given.
bool always_continues(const ir::Graph& body) {
  if (body.outputs().empty() || body.inputs().size() < 2) return false;
  ir::ValueId value = body.outputs()[0].value;
  while (const ir::Node* node = body.producer(value)) {
    if (node->op->name != "Identity") return false;
    value = node->inputs[0];
  }
  if (value == body.inputs()[1].value) return true;
  const Tensor& constant = body.value(value).constant;
  return constant.dtype() == DType::kBool && constant.size() == 1 && constant.get_int(0) != 0;
}

bool starts_true(const InferContext& context) {
  if (!context.has_input(1)) return true;
  const Tensor* cond = context.constant(1);
  return cond != nullptr && cond->size() == 1 && cond->get_int(0) != 0;
}

Dim trip_count(InferContext& context) {
  const bool whole = starts_true(context) && always_continues(*context.node().bodies[0]);
  const auto limit = context.has_input(0) ? context.dims_value(0) : std::nullopt;
  if (!whole || !limit || limit->size() != 1) return context.fresh_dim("trips");
  return Dim::max(limit->front(), Dim(0));
}

Status check_loop_inputs(const InferContext& context) {
  TUTTI_TRY(check_carried(context.attrs<LoopAttrs>().carried, context.input_count()));
  if (context.has_input(0) && context.dtype(0) != DType::kInt64)
    return make_error(Code::kInvalidModel, "the trip count of Loop is {}, expected one int64", context.input(0).text());
  if (context.has_input(1) && context.dtype(1) != DType::kBool)
    return make_error(Code::kInvalidModel, "the condition of Loop is {}, expected one bool", context.input(1).text());
  return ok_status();
}

Status infer_loop(InferContext& context) {
  TUTTI_TRY(check_loop_inputs(context));
  const auto carried = static_cast<size_t>(context.attrs<LoopAttrs>().carried);
  std::vector<ValueType> initial, captures;
  for (int i = 2; i < context.input_count(); ++i) {
    auto& list = initial.size() < carried ? initial : captures;
    list.push_back(context.has_input(i) ? context.input(i) : ValueType{});
  }
  CarriedTypes state(context, std::move(initial));
  std::vector<ValueType> results;
  for (bool changed = true; changed;) {
    std::vector<ValueType> inputs{ValueType::tensor(DType::kInt64, Shape{}), ValueType::tensor(DType::kBool, Shape{})};
    inputs.insert(inputs.end(), state.types().begin(), state.types().end());
    inputs.insert(inputs.end(), captures.begin(), captures.end());
    results = TUTTI_TRY(context.infer_body(0, inputs));
    if (results.size() < carried + 1 || static_cast<size_t>(context.output_count()) > results.size() - 1)
      return make_error(Code::kInvalidModel,
                        "Loop carries {} values and has {} outputs, but its body gives {} (the first is the condition)",
                        carried, context.output_count(), results.size());
    changed = TUTTI_TRY(state.widen(std::span(results).subspan(1, carried)));
  }
  if (!context.has_input(0) && !context.has_input(1) && always_continues(*context.node().bodies[0]))
    return Error(Code::kInvalidModel, "Loop never ends: it has no trip count and its condition is always true");
  BodyTypeExporter exported(context);
  for (size_t i = 0; i < carried; ++i) context.set_output(static_cast<int>(i), state.result(i));
  if (static_cast<size_t>(context.output_count()) == carried) return ok_status();
  const Dim trips = trip_count(context);
  for (size_t i = carried; i < static_cast<size_t>(context.output_count()); ++i) {
    ValueType type = exported(std::move(results[i + 1]));
    if (!type.is_tensor())
      return make_error(Code::kInvalidModel, "scan output {} of Loop is {}, expected a tensor", i, type.text());
    if (type.shape) type.shape->insert(type.shape->begin(), trips);
    context.set_output(static_cast<int>(i), std::move(type));
  }
  return ok_status();
}

// What a scan output is after no iteration at all: unknown dims are 0.
Tensor empty_scan(const std::vector<ValueType>& types, size_t index, int64_t axis, int64_t length) {
  if (index >= types.size() || types[index].dtype == DType::kUndefined) return Tensor::zeros(DType::kFloat32, {0});
  ir::Dims dims;
  if (types[index].shape)
    for (const Dim& dim : *types[index].shape) dims.push_back(dim.constant().value_or(0));
  axis = std::clamp<int64_t>(axis < 0 ? axis + static_cast<int64_t>(dims.size()) + 1 : axis, 0,
                             static_cast<int64_t>(dims.size()));
  dims.insert(dims.begin() + axis, length);
  return Tensor::zeros(types[index].dtype, std::move(dims));
}

Result<bool> read_condition(const Datum& datum) {
  if (!datum.is_tensor() || datum.tensor().size() != 1 || datum.tensor().dtype() != DType::kBool)
    return Error(Code::kInvalidInput, "the condition of Loop is not one bool");
  return datum.tensor().get_int(0) != 0;
}

Status append_scans(std::span<const Datum> results, std::vector<std::vector<Tensor>>& scans) {
  for (size_t i = 0; i < scans.size(); ++i) {
    if (i >= results.size() || !results[i].is_tensor())
      return make_error(Code::kInvalidInput, "scan output {} of the body is not a tensor", i);
    scans[i].push_back(results[i].tensor());
  }
  return ok_status();
}

struct LoopState {
  std::vector<Datum> values;  // carried, then captures
  std::vector<std::vector<Tensor>> scans;
};

Status run_loop(EvalContext& context, size_t carried, LoopState& state) {
  const int64_t limit = context.has_input(0) ? (context.input(0).size() == 1 ? context.input(0).get_int(0) : -1)
                                             : std::numeric_limits<int64_t>::max();
  if (limit < 0 && context.input(0).size() != 1)
    return make_error(Code::kInvalidInput, "the trip count of Loop is {}, expected one int64",
                      context.input(0).type_text());
  bool go = context.has_input(1) ? TUTTI_TRY(read_condition(context.datum(1))) : true;
  for (int64_t iteration = 0; go && iteration < limit; ++iteration) {
    std::vector<Datum> inputs{Tensor::scalar<int64_t>(iteration), Tensor::scalar<bool>(go)};
    inputs.insert(inputs.end(), state.values.begin(), state.values.end());
    auto results = TUTTI_TRY(context.run_body(0, inputs));
    if (results.size() < 1 + carried)
      return make_error(Code::kInvalidInput, "Loop's body gives {} values, expected {}", results.size(), 1 + carried);
    go = TUTTI_TRY(read_condition(results[0]));
    for (size_t i = 0; i < carried; ++i) state.values[i] = std::move(results[i + 1]);
    TUTTI_TRY(append_scans(std::span(results).subspan(1 + carried), state.scans));
  }
  return ok_status();
}

Status eval_loop(EvalContext& context) {
  const int64_t declared = context.attrs<LoopAttrs>().carried;
  TUTTI_TRY(check_carried(declared, context.input_count()));
  const auto carried = static_cast<size_t>(declared);
  LoopState state;
  for (int i = 2; i < context.input_count(); ++i) state.values.push_back(context.datum(i));
  const auto outputs = static_cast<size_t>(context.output_count());
  state.scans.resize(outputs > carried ? outputs - carried : 0);
  TUTTI_TRY(run_loop(context, carried, state));
  for (size_t i = 0; i < std::min(carried, outputs); ++i)
    context.set_output(static_cast<int>(i), std::move(state.values[i]));
  for (size_t i = 0; i < state.scans.size(); ++i) {
    Tensor joined = state.scans[i].empty() ? empty_scan(context.body_output_types(0), 1 + carried + i, 0, 0)
                                           : TUTTI_TRY(stack_tensors(state.scans[i], 0));
    context.set_output(static_cast<int>(carried + i), std::move(joined));
  }
  return ok_status();
}

// --- Scan

int64_t entry(const std::vector<int64_t>& list, size_t index) { return index < list.size() ? list[index] : 0; }

Status check_scan(const ScanAttrs& attrs, int inputs, int outputs) {
  if (attrs.states < 0 || attrs.num_scan_inputs < 1 || attrs.states > inputs ||
      attrs.num_scan_inputs > inputs - attrs.states)
    return make_error(Code::kInvalidModel, "Scan names {} states and {} scan inputs, but has {} inputs", attrs.states,
                      attrs.num_scan_inputs, inputs);
  if (outputs < attrs.states)
    return make_error(Code::kInvalidModel, "Scan has {} states, but {} outputs", attrs.states, outputs);
  return ok_status();
}

// The types of the slices, and the common length of the scan inputs.
Result<std::vector<ValueType>> slice_types(InferContext& context, const ScanAttrs& attrs, Dim& length) {
  std::vector<ValueType> slices;
  bool known = false;
  for (int64_t k = 0; k < attrs.num_scan_inputs; ++k) {
    ValueType type = context.input(static_cast<int>(attrs.states + k));
    if (type.shape) {
      const int64_t axis =
          TUTTI_TRY(ir::normalize_axis(entry(attrs.scan_input_axes, static_cast<size_t>(k)), type.rank()));
      const Dim dim = (*type.shape)[static_cast<size_t>(axis)];
      if (known && Dim::never_equal(length, dim))
        return make_error(Code::kInvalidModel, "scan inputs have {} and {} steps; they must agree", length.text(),
                          dim.text());
      if (!known || dim.is_constant()) length = dim;
      known = true;
      type.shape->erase(type.shape->begin() + axis);
    }
    slices.push_back(std::move(type));
  }
  if (!known) length = context.fresh_dim("steps");
  return slices;
}

Status infer_scan(InferContext& context) {
  const auto& attrs = context.attrs<ScanAttrs>();
  TUTTI_TRY(check_scan(attrs, context.input_count(), context.output_count()));
  for (int i = 0; i < attrs.states + attrs.num_scan_inputs; ++i)
    if (!context.has_input(i) || !context.input(i).is_tensor())
      return make_error(Code::kInvalidModel, "input {} of Scan is not a tensor", i);
  const auto states = static_cast<size_t>(attrs.states);
  std::vector<ValueType> initial, captures;
  for (int i = 0; i < context.input_count(); ++i) {
    if (i < attrs.states) initial.push_back(context.input(i));
    if (i >= attrs.states + attrs.num_scan_inputs)
      captures.push_back(context.has_input(i) ? context.input(i) : ValueType{});
  }
  Dim length;
  const auto slices = TUTTI_TRY(slice_types(context, attrs, length));
  CarriedTypes state(context, std::move(initial));
  std::vector<ValueType> results;
  for (bool changed = true; changed;) {
    std::vector<ValueType> inputs = state.types();
    inputs.insert(inputs.end(), slices.begin(), slices.end());
    inputs.insert(inputs.end(), captures.begin(), captures.end());
    results = TUTTI_TRY(context.infer_body(0, inputs));
    if (results.size() < static_cast<size_t>(context.output_count()))
      return make_error(Code::kInvalidModel, "Scan has {} outputs, but its body gives {}", context.output_count(),
                        results.size());
    changed = TUTTI_TRY(state.widen(std::span(results).first(states)));
  }
  BodyTypeExporter exported(context);
  for (size_t i = 0; i < states; ++i) context.set_output(static_cast<int>(i), state.result(i));
  for (size_t i = states; i < static_cast<size_t>(context.output_count()); ++i) {
    ValueType type = exported(std::move(results[i]));
    if (!type.is_tensor())
      return make_error(Code::kInvalidModel, "scan output {} of Scan is {}, expected a tensor", i, type.text());
    if (type.shape) {
      const int64_t axis = TUTTI_TRY(ir::normalize_axis(entry(attrs.scan_output_axes, i - states), type.rank() + 1));
      type.shape->insert(type.shape->begin() + axis, length);
    }
    context.set_output(static_cast<int>(i), std::move(type));
  }
  return ok_status();
}

struct ScanInput {
  const Tensor* tensor;
  int64_t axis;
  bool backward;
};

Result<std::vector<ScanInput>> scan_inputs(const EvalContext& context, const ScanAttrs& attrs) {
  std::vector<ScanInput> inputs;
  for (int64_t k = 0; k < attrs.num_scan_inputs; ++k) {
    const int i = static_cast<int>(attrs.states + k);
    if (!context.has_input(i) || !context.datum(i).is_tensor())
      return make_error(Code::kInvalidInput, "scan input {} is not a tensor", i);
    const Tensor& tensor = context.input(i);
    const auto index = static_cast<size_t>(k);
    const int64_t axis = TUTTI_TRY(ir::normalize_axis(entry(attrs.scan_input_axes, index), tensor.rank()));
    inputs.push_back({&tensor, axis, entry(attrs.scan_input_directions, index) != 0});
    if (tensor.dim(axis) != inputs[0].tensor->dim(inputs[0].axis))
      return make_error(Code::kInvalidInput, "scan inputs have {} and {} steps; they must agree",
                        inputs[0].tensor->dim(inputs[0].axis), tensor.dim(axis));
  }
  return inputs;
}

Status eval_scan(EvalContext& context) {
  const auto& attrs = context.attrs<ScanAttrs>();
  TUTTI_TRY(check_scan(attrs, context.input_count(), context.output_count()));
  const auto walked = TUTTI_TRY(scan_inputs(context, attrs));
  const auto states = static_cast<size_t>(attrs.states);
  std::vector<Datum> values;
  for (size_t i = 0; i < states; ++i) values.push_back(context.datum(static_cast<int>(i)));
  std::vector<std::vector<Tensor>> scans(static_cast<size_t>(context.output_count()) - states);
  const int64_t steps = walked[0].tensor->dim(walked[0].axis);
  for (int64_t step = 0; step < steps; ++step) {
    std::vector<Datum> inputs = values;
    for (const ScanInput& in : walked)
      inputs.emplace_back(slice_at(*in.tensor, in.axis, in.backward ? steps - 1 - step : step));
    for (int i = static_cast<int>(attrs.states + attrs.num_scan_inputs); i < context.input_count(); ++i)
      inputs.push_back(context.datum(i));
    auto results = TUTTI_TRY(context.run_body(0, inputs));
    if (results.size() < states)
      return make_error(Code::kInvalidInput, "Scan's body gives {} values, expected {} states", results.size(), states);
    for (size_t i = 0; i < states; ++i) values[i] = std::move(results[i]);
    TUTTI_TRY(append_scans(std::span(results).subspan(states), scans));
  }
  for (size_t i = 0; i < states; ++i) context.set_output(static_cast<int>(i), std::move(values[i]));
  for (size_t i = 0; i < scans.size(); ++i) {
    const int64_t axis = entry(attrs.scan_output_axes, i);
    if (entry(attrs.scan_output_directions, i) != 0) std::reverse(scans[i].begin(), scans[i].end());
    Tensor joined = scans[i].empty() ? empty_scan(context.body_output_types(0), states + i, axis, 0)
                                     : TUTTI_TRY(stack_tensors(scans[i], axis));
    context.set_output(static_cast<int>(states + i), std::move(joined));
  }
  return ok_status();
}

}  // namespace

const ir::OpDef kLoop{.name = "Loop",
                      .min_inputs = 2,
                      .max_inputs = ir::kAnyCount,
                      .min_outputs = 0,
                      .max_outputs = ir::kAnyCount,
                      .make_attrs = ir::make_attrs<LoopAttrs>,
                      .infer = infer_loop,
                      .eval = eval_loop,
                      .tolerance = ir::Tolerance::kApproximate,
                      .traits = ir::kControl,
                      .body_count = 1};

const ir::OpDef kScan{.name = "Scan",
                      .min_inputs = 1,
                      .max_inputs = ir::kAnyCount,
                      .max_outputs = ir::kAnyCount,
                      .make_attrs = ir::make_attrs<ScanAttrs>,
                      .infer = infer_scan,
                      .eval = eval_scan,
                      .tolerance = ir::Tolerance::kApproximate,
                      .traits = ir::kControl,
                      .body_count = 1};

}  // namespace tutti::ops
