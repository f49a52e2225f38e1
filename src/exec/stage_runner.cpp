#include "exec/stage_runner.h"

#include <cstring>

#include "ir/infer.h"
#include "ir/op_def.h"
#include "ops/interpreter.h"

namespace tutti::exec {
namespace {

// Runs the bodies of one node through their executors, one level deeper.
class Bodies final : public ir::BodyRunner {
 public:
  using Run = std::function<Result<std::vector<ir::Datum>>(int, std::span<const ir::Datum>)>;
  Bodies(const ir::Node& node, Run run) : node_(node), run_(std::move(run)) {}
  Result<std::vector<ir::Datum>> run_body(int body, std::span<const ir::Datum> inputs) override {
    return run_(body, inputs);
  }
  std::vector<ir::ValueType> body_output_types(int body) const override {
    return ops::output_types(*node_.bodies[static_cast<size_t>(body)]);
  }

 private:
  const ir::Node& node_;
  Run run_;
};

}  // namespace

std::string_view kernel_name(const Step& step) {
  if (step.kind == StepKind::kHost) return "host";
  return step.def ? step.def->name : std::string_view("reference");
}

Status StageRunner::run() {
  TUTTI_TRY(prepare_buffers());
  for (const Step& step : program_.steps) {
    if (!state_.clock) {
      TUTTI_TRY(run_step(step));
      continue;
    }
    const TimePoint start = state_.clock->now();
    TUTTI_TRY(run_step(step));
    const ir::Node& node = graph().node(step.node);
    state_.profile.push_back({node.name, std::string(node.op->name), std::string(kernel_name(step)), state_.depth - 1,
                              (state_.clock->now() - start).count()});
  }
  TUTTI_TRY(run_exports());
  frame_.owned.clear();
  for (const ir::NodeId id : program_.host_nodes) TUTTI_TRY(run_host_node(id));
  for (const ir::ValueId id : program_.released) environment(id) = {};
  return {};
}

void StageRunner::set_environment(ir::ValueId id, ir::Datum datum) {
  if (environment(id).empty()) frame_.filled.push_back(id);
  environment(id) = std::move(datum);
}

ir::Tensor StageRunner::owned_tensor(const Buffer& buffer) const {
  const auto& outputs = graph().outputs();
  for (size_t i = 0; i < bound_.size() && i < outputs.size(); ++i)
    if (outputs[i].value == buffer.value && bound_[i].defined() && bound_[i].dtype() == buffer.desc.dtype &&
        bound_[i].dims() == buffer.desc.dims)
      return bound_[i];
  return ir::Tensor::allocate(buffer.desc.dtype, buffer.desc.dims);
}

Status StageRunner::prepare_buffers() {
  if (program_.owned_bytes > 0) TUTTI_TRY(state_.budget.check(program_.owned_bytes, "the results of a run"));
  TUTTI_TRY(frame_.arena.grow(program_.arena_bytes));
  // What is present has an address, even without elements.
  alignas(64) static constexpr std::byte nothing[64]{};
  frame_.pointers.assign(program_.buffers.size(), nullptr);
  frame_.owned.clear();
  frame_.owned.resize(program_.buffers.size());
  for (size_t i = 0; i < program_.buffers.size(); ++i) {
    const Buffer& buffer = program_.buffers[i];
    const void*& pointer = frame_.pointers[i];
    switch (buffer.place) {
      case Place::kConstant: pointer = buffer.tensor.raw(); break;
      case Place::kArena: pointer = frame_.arena.data() + buffer.offset; break;
      case Place::kOwned:
        frame_.owned[i] = owned_tensor(buffer);
        pointer = frame_.owned[i].raw();
        break;
      case Place::kEnvironment:
        if (environment(buffer.value).is_tensor()) pointer = environment(buffer.value).tensor().raw();
        break;
    }
    if (!pointer) pointer = nothing;
  }
  return {};
}

Status StageRunner::run_step(const Step& step) {
  std::vector<ir::Datum> seen;
  if (state_.observer) {
    seen = input_data(step);
    if (step.in_place_input >= 0) {
      ir::Datum& overwritten = seen[static_cast<size_t>(step.in_place_input)];
      overwritten = overwritten.tensor().clone();
    }
  }
  Status status = step.kind == StepKind::kKernel      ? run_kernel(step)
                  : step.kind == StepKind::kReference ? run_reference(step)
                                                      : run_host(step);
  if (!status.ok()) return std::move(status).with_context(ir::describe_node(graph(), step.node));
  if (state_.observer) return observe(step, std::move(seen));
  return status;
}

Status StageRunner::run_kernel(const Step& step) {
  inputs_.clear();
  outputs_.clear();
  for (const Operand& input : step.inputs)
    inputs_.push_back(input.buffer < 0 ? nullptr : frame_.pointers[static_cast<size_t>(input.buffer)]);
  for (const Operand& output : step.outputs)
    outputs_.push_back(output.buffer < 0 ? nullptr
                                         : const_cast<void*>(frame_.pointers[static_cast<size_t>(output.buffer)]));
  void* workspace =
      step.workspace < 0 ? nullptr : const_cast<void*>(frame_.pointers[static_cast<size_t>(step.workspace)]);
  return step.kernel->run({inputs_, outputs_, workspace, state_.threads});
}

Status StageRunner::run_reference(const Step& step) {
  const std::vector<ir::Datum> outputs = TUTTI_TRY(evaluate(step.node, input_data(step)));
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    const Operand& output = step.outputs[i];
    if (output.buffer < 0) continue;
    TUTTI_TRY(check_output(step.node, output.desc, outputs[i]));
    const ir::Tensor& tensor = outputs[i].tensor();
    if (tensor.size_bytes() > 0)
      std::memmove(const_cast<void*>(frame_.pointers[static_cast<size_t>(output.buffer)]), tensor.raw(),
                   tensor.size_bytes());
  }
  return {};
}

Status StageRunner::run_host(const Step& step) {
  std::vector<ir::Datum> outputs = TUTTI_TRY(evaluate(step.node, input_data(step)));
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    const Operand& output = step.outputs[i];
    if (output.buffer < 0) continue;
    if (output.desc.present()) TUTTI_TRY(check_output(step.node, output.desc, outputs[i]));
    set_environment(output.value, detached(std::move(outputs[i])));
    const ir::Datum& datum = environment(output.value);
    if (datum.is_tensor()) frame_.pointers[static_cast<size_t>(output.buffer)] = datum.tensor().raw();
  }
  return {};
}

Status StageRunner::run_host_node(ir::NodeId id) {
  const ir::Node& node = graph().node(id);
  std::vector<ir::Datum> inputs;
  for (const ir::ValueId in : node.inputs) {
    if (in == ir::kNoValue)
      inputs.emplace_back();
    else if (graph().value(in).is_constant())
      inputs.emplace_back(graph().value(in).constant);
    else
      inputs.push_back(environment(in));
  }
  const TimePoint start = state_.clock ? state_.clock->now() : TimePoint{};
  auto result = evaluate(id, inputs);
  if (!result.ok()) return std::move(result).take_error().with_context(ir::describe_node(graph(), id));
  if (state_.clock)
    state_.profile.push_back(
        {node.name, std::string(node.op->name), "host", state_.depth - 1, (state_.clock->now() - start).count()});
  if (state_.observer) TUTTI_TRY(state_.observer({graph(), id, state_.depth - 1, "host", inputs, *result}));
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (node.outputs[i] != ir::kNoValue) set_environment(node.outputs[i], detached(std::move((*result)[i])));
  return {};
}

Status StageRunner::run_exports() {
  for (const Export& out : program_.exports) {
    const Buffer& buffer = program_.buffers[static_cast<size_t>(out.buffer)];
    if (buffer.place == Place::kEnvironment && buffer.value == out.value) continue;
    if (buffer.place == Place::kConstant) {
      set_environment(out.value, buffer.tensor.reshaped(out.desc.dims));
    } else if (buffer.place == Place::kOwned) {
      set_environment(out.value, frame_.owned[static_cast<size_t>(out.buffer)].reshaped(out.desc.dims));
    } else {
      TUTTI_CHECK(buffer.place == Place::kEnvironment, "value '{}' ended in the arena", graph().value(out.value).name);
      set_environment(out.value, environment(buffer.value).tensor().reshaped(out.desc.dims));
    }
  }
  return {};
}

Result<std::vector<ir::Datum>> StageRunner::evaluate(ir::NodeId id, std::span<const ir::Datum> inputs) {
  const ir::Node& node = graph().node(id);
  const auto count = static_cast<int>(node.outputs.size());
  const auto wanted = std::make_unique<bool[]>(node.outputs.size());
  for (size_t i = 0; i < node.outputs.size(); ++i) wanted[i] = node.outputs[i] != ir::kNoValue;
  const std::span<const bool> wanted_span(wanted.get(), node.outputs.size());
  const uint64_t graph_seed = state_.seed, seed = ops::stream_seed(graph_seed, static_cast<uint64_t>(id));
  std::vector<ir::Datum> outputs;
  if (node.bodies.empty()) {
    outputs = TUTTI_TRY(ops::evaluate({.op = *node.op,
                                       .attrs = node.attrs,
                                       .inputs = inputs,
                                       .output_count = count,
                                       .seed = seed,
                                       .wanted = wanted_span}));
  } else {
    uint64_t calls = 0;
    Bodies bodies(node, [&](int body, std::span<const ir::Datum> body_inputs) {
      state_.seed = ops::stream_seed(seed, ++calls);
      auto result = executor_.body(id, body).run(state_, body_inputs);
      state_.seed = graph_seed;
      return result;
    });
    ir::EvalContext context(
        {.attrs = &node.attrs, .inputs = inputs, .output_count = count, .bodies = &bodies, .wanted = wanted_span});
    TUTTI_TRY(node.op->eval(context));
    outputs = std::move(context.outputs());
  }
  if (outputs.size() != node.outputs.size())
    return make_error(Code::kInternal, "found {} results, expected {}", outputs.size(), node.outputs.size());
  return outputs;
}

Status StageRunner::observe(const Step& step, std::vector<ir::Datum> inputs) {
  std::vector<ir::Datum> outputs;
  for (const Operand& output : step.outputs) outputs.push_back(datum_of(output));
  return state_.observer({graph(), step.node, state_.depth - 1, kernel_name(step), inputs, outputs});
}

ir::Datum StageRunner::datum_of(const Operand& operand) {
  if (operand.buffer < 0) return {};
  const Buffer& buffer = program_.buffers[static_cast<size_t>(operand.buffer)];
  switch (buffer.place) {
    case Place::kConstant: return buffer.tensor.reshaped(operand.desc.dims);
    case Place::kEnvironment: {
      const ir::Datum& datum = environment(buffer.value);
      if (datum.is_tensor() && operand.desc.present() && datum.tensor().dims() != operand.desc.dims)
        return datum.tensor().reshaped(operand.desc.dims);
      return datum;
    }
    case Place::kOwned: {
      // An in-place chain may have changed the element type; the view keeps the memory alive.
      const ir::Tensor& tensor = frame_.owned[static_cast<size_t>(operand.buffer)];
      if (tensor.dtype() == operand.desc.dtype) return tensor.reshaped(operand.desc.dims);
      return ir::Tensor::view(operand.desc.dtype, operand.desc.dims, tensor.raw(),
                              std::make_shared<const ir::Tensor>(tensor));
    }
    case Place::kArena: break;
  }
  return ir::Tensor::view(operand.desc.dtype, operand.desc.dims, frame_.pointers[static_cast<size_t>(operand.buffer)],
                          nullptr);
}

std::vector<ir::Datum> StageRunner::input_data(const Step& step) {
  std::vector<ir::Datum> out;
  out.reserve(step.inputs.size());
  for (const Operand& input : step.inputs) out.push_back(datum_of(input));
  return out;
}

ir::Tensor StageRunner::detached(ir::Tensor tensor) const {
  return frame_.arena.contains(tensor.raw()) ? tensor.clone() : tensor;
}

ir::Datum StageRunner::detached(ir::Datum datum) const {
  if (datum.is_tensor()) return detached(std::move(datum.tensor()));
  if (!datum.is_sequence()) return datum;
  bool inside = false;
  for (const ir::Tensor& element : datum.sequence()) inside = inside || frame_.arena.contains(element.raw());
  if (!inside) return datum;
  ir::Datum::Sequence copy;
  for (const ir::Tensor& element : datum.sequence()) copy.push_back(detached(element));
  return copy;
}

Status StageRunner::check_output(ir::NodeId id, const backend::TensorDesc& expected, const ir::Datum& found) const {
  if (found.is_tensor() && found.tensor().dtype() == expected.dtype && found.tensor().dims() == expected.dims)
    return {};
  return make_error(Code::kInternal, "result of {}: found {}, expected {}{}", graph().node(id).op->name,
                    found.is_tensor() ? found.tensor().type_text() : "no tensor", ir::dtype_name(expected.dtype),
                    ir::dims_text(expected.dims));
}

}  // namespace tutti::exec
