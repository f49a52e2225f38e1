#include "exec/program_builder.h"

#include <algorithm>
#include <atomic>

#include "exec/memory_plan.h"
#include "exec/select_kernel.h"
#include "ir/infer.h"
#include "ir/op_def.h"

namespace tutti::exec {
namespace {

size_t index(int32_t id) { return static_cast<size_t>(id); }

backend::TensorDesc desc_of(const ir::ValueType& type) {
  if (!type.is_tensor()) return {};
  return {type.dtype, type.static_dims().value_or(ir::Dims{})};
}

size_t bytes_of(const backend::TensorDesc& desc) {
  return (index(static_cast<int32_t>(ir::dtype_bits(desc.dtype))) * static_cast<size_t>(ir::element_count(desc.dims)) +
          7) /
         8;
}

}  // namespace

ProgramBuilder::ProgramBuilder(const Resolved& stage, const StageRequest& request, const Environment& environment)
    : stage_(stage), request_(request), environment_(environment) {
  const auto values = index(stage.graph.value_capacity());
  exported_.resize(values, false);
  needed_later_.resize(values, false);
  root_.resize(values);
  last_use_.resize(values, -1);
  root_exported_.resize(values, false);
  buffer_of_.resize(values, -1);
  for (size_t i = 0; i < values; ++i) root_[i] = static_cast<ir::ValueId>(i);
}

Result<std::shared_ptr<Program>> ProgramBuilder::build() {
  static std::atomic<int64_t> next_id{1};
  program_->id = next_id.fetch_add(1, std::memory_order_relaxed);
  program_->stage = request_.stage;
  find_exports();
  drop_unused_steps();
  find_roots();
  for (const ir::NodeId id : nodes_) TUTTI_TRY(add_step(id));
  for (ir::ValueId id = 0; id < stage_.graph.value_capacity(); ++id)
    if (exported_[index(id)]) program_->exports.push_back({id, buffer_of_input(id), desc_of(value(id).type)});
  finish_buffers();
  finish_lists();
  return program_;
}

ProgramBuilder::NodeKind ProgramBuilder::kind_of(const ir::Node& node) const {
  if (node.op->has(ir::kControl)) return NodeKind::kHost;
  for (const auto* list : {&node.inputs, &node.outputs})
    for (const ir::ValueId id : *list)
      if (id != ir::kNoValue && !is_dense(value(id).type)) return NodeKind::kHost;
  const bool view =
      node.op->has(ir::kView) && node.outputs.size() == 1 && !node.inputs.empty() && node.outputs[0] != ir::kNoValue;
  return view ? NodeKind::kView : NodeKind::kDense;
}

// A value made by this stage's steps or folded in it is exported when something after the steps reads it.
void ProgramBuilder::find_exports() {
  auto need = [&](ir::ValueId id) {
    if (id != ir::kNoValue) needed_later_[index(id)] = true;
  };
  for (const auto* list : {&stage_.host, &stage_.remaining})
    for (const ir::NodeId id : *list)
      for (const ir::ValueId in : node(id).inputs) need(in);
  for (const ir::Port& port : stage_.graph.outputs()) need(port.value);
  for (const auto* list : {&stage_.steps, &stage_.folded})
    for (const ir::NodeId id : *list)
      for (const ir::ValueId out : node(id).outputs)
        if (out != ir::kNoValue && needed_later_[index(out)]) exported_[index(out)] = true;
}

void ProgramBuilder::drop_unused_steps() {
  std::vector<bool> needed = exported_;
  for (size_t i = stage_.steps.size(); i-- > 0;) {
    const ir::Node& step = node(stage_.steps[i]);
    const bool used = std::any_of(step.outputs.begin(), step.outputs.end(),
                                  [&](ir::ValueId id) { return id != ir::kNoValue && needed[index(id)]; });
    if (!used) continue;
    nodes_.push_back(stage_.steps[i]);
    for (const ir::ValueId in : step.inputs)
      if (in != ir::kNoValue && !value(in).is_constant()) needed[index(in)] = true;
  }
  std::reverse(nodes_.begin(), nodes_.end());
}

// Views share their source's buffer; uses and exports of any of them count for all.
void ProgramBuilder::find_roots() {
  int32_t step = 0;
  for (const ir::NodeId id : nodes_) {
    const ir::Node& current = node(id);
    if (kind_of(current) == NodeKind::kView) {
      root_[index(current.outputs[0])] = root_[index(current.inputs[0])];
      continue;
    }
    for (const ir::ValueId in : current.inputs)
      if (in != ir::kNoValue) last_use_[index(root_[index(in)])] = step;
    ++step;
  }
  for (size_t id = 0; id < exported_.size(); ++id)
    if (exported_[id]) root_exported_[index(root_[id])] = true;
}

Status ProgramBuilder::add_step(ir::NodeId id) {
  switch (kind_of(node(id))) {
    case NodeKind::kView: buffer_of_input(node(id).inputs[0]); return {};
    case NodeKind::kHost: add_host_step(id); return {};
    case NodeKind::kDense: return add_dense_step(id);
  }
  return {};
}

std::vector<Operand> ProgramBuilder::operands(const std::vector<ir::ValueId>& values) const {
  std::vector<Operand> out;
  for (const ir::ValueId id : values) {
    Operand& operand = out.emplace_back();
    if (id == ir::kNoValue) continue;
    operand.value = id;
    operand.desc = desc_of(value(id).type);
  }
  return out;
}

void ProgramBuilder::place_in(Step& step) {
  for (Operand& input : step.inputs)
    if (input.value != ir::kNoValue) input.buffer = buffer_of_input(input.value);
}

void ProgramBuilder::add_host_step(ir::NodeId id) {
  Step step;
  step.node = id;
  step.kind = StepKind::kHost;
  step.inputs = operands(node(id).inputs);
  step.outputs = operands(node(id).outputs);
  place_in(step);
  for (Operand& output : step.outputs) {
    if (output.value == ir::kNoValue) continue;
    output.buffer = add_buffer({.place = Place::kEnvironment, .value = output.value}, {});
    buffer_of_[index(output.value)] = output.buffer;
  }
  program_->host_steps.push_back(node(id).name);
  program_->steps.push_back(std::move(step));
}

Status ProgramBuilder::add_dense_step(ir::NodeId id) {
  const ir::Node& current = node(id);
  Step step;
  step.node = id;
  step.inputs = operands(current.inputs);
  step.outputs = operands(current.outputs);
  place_in(step);
  std::vector<backend::TensorDesc> inputs, outputs;
  std::vector<const ir::Tensor*> constants;
  for (const Operand& input : step.inputs) {
    inputs.push_back(input.desc);
    const bool known = input.value != ir::kNoValue && value(input.value).is_constant();
    constants.push_back(known ? &program_->buffers[index(input.buffer)].tensor : nullptr);
  }
  for (const Operand& output : step.outputs) outputs.push_back(output.desc);
  static const backend::DeviceInfo no_device;
  const backend::KernelQuery query{*current.op, current.attrs,
                                   inputs,      outputs,
                                   constants,   environment_.backend ? environment_.backend->device() : no_device};
  Selection selection = select_kernel(query, current.name, environment_);
  step.kind = selection.def ? StepKind::kKernel : StepKind::kReference;
  step.def = selection.def;
  step.kernel = std::move(selection.kernel);
  if (!step.def || step.def->reference) count_fallback(current, std::move(selection.refusals));
  if (step.def && step.def->in_place_input) {
    const int input = step.def->in_place_input(query);
    if (may_overwrite(step, input)) step.in_place_input = input;
  }
  place_outputs(step);
  program_->steps.push_back(std::move(step));
  return {};
}

// The input's buffer is ours, this step is its last reader, and reads it once.
bool ProgramBuilder::may_overwrite(const Step& step, int input) const {
  if (input < 0 || input >= static_cast<int>(step.inputs.size()) || step.outputs.empty()) return false;
  const Operand& source = step.inputs[index(input)];
  if (source.buffer < 0 || step.outputs[0].value == ir::kNoValue) return false;
  const Life& life = lives_[index(source.buffer)];
  if (!life.made_here || life.exported || life.last != static_cast<int32_t>(program_->steps.size())) return false;
  if (bytes_of(source.desc) != bytes_of(step.outputs[0].desc)) return false;
  return std::count_if(step.inputs.begin(), step.inputs.end(),
                       [&](const Operand& o) { return o.buffer == source.buffer; }) == 1;
}

void ProgramBuilder::place_outputs(Step& step) {
  const auto now = static_cast<int32_t>(program_->steps.size());
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    Operand& output = step.outputs[i];
    if (output.value == ir::kNoValue) continue;
    const Life life{now, std::max(now, last_use_[index(output.value)]), root_exported_[index(output.value)], true};
    if (i == 0 && step.in_place_input >= 0) {
      output.buffer = step.inputs[index(step.in_place_input)].buffer;
      lives_[index(output.buffer)].last = life.last;
      lives_[index(output.buffer)].exported = life.exported;
      if (life.exported) {
        program_->buffers[index(output.buffer)].value = output.value;
        program_->buffers[index(output.buffer)].desc = output.desc;
      }
    } else {
      output.buffer =
          add_buffer({.size_bytes = bytes_of(output.desc), .desc = output.desc, .value = output.value}, life);
    }
    buffer_of_[index(output.value)] = output.buffer;
  }
  if (!step.kernel || step.kernel->workspace_bytes() == 0) return;
  step.workspace = add_buffer({.size_bytes = step.kernel->workspace_bytes()}, {now, now, false, true});
}

void ProgramBuilder::count_fallback(const ir::Node& node, std::vector<std::pair<std::string, std::string>> refusals) {
  program_->fallbacks.push_back({node.name, std::string(node.op->name), std::move(refusals)});
}

// Constants (known numbers too) are placed on first use; anything else without a buffer comes from the environment.
int32_t ProgramBuilder::buffer_of_input(ir::ValueId id) {
  const ir::ValueId root = value(id).is_constant() ? id : root_[index(id)];
  int32_t& buffer = buffer_of_[index(root)];
  if (buffer >= 0) return buffer;
  if (value(root).is_constant())
    buffer = add_buffer({.place = Place::kConstant, .tensor = value(root).constant, .value = root}, {});
  else
    buffer = add_buffer({.place = Place::kEnvironment, .value = root}, {});
  return buffer;
}

int32_t ProgramBuilder::add_buffer(Buffer buffer, Life life) {
  program_->buffers.push_back(std::move(buffer));
  lives_.push_back(life);
  return static_cast<int32_t>(lives_.size()) - 1;
}

void ProgramBuilder::finish_buffers() {
  std::vector<LiveRange> ranges;
  std::vector<size_t> planned;
  for (size_t i = 0; i < lives_.size(); ++i) {
    Buffer& buffer = program_->buffers[i];
    if (!lives_[i].made_here) continue;
    if (lives_[i].exported) {
      buffer.place = Place::kOwned;
      program_->owned_bytes += align_up(buffer.size_bytes, kBufferAlignment);
      continue;
    }
    ranges.push_back({buffer.size_bytes, lives_[i].first, lives_[i].last});
    planned.push_back(i);
  }
  const MemoryPlan memory = plan_memory(ranges);
  for (size_t i = 0; i < planned.size(); ++i) program_->buffers[planned[i]].offset = memory.offsets[i];
  program_->arena_bytes = memory.total_bytes;
  program_->arena_lower_bound_bytes = memory.lower_bound_bytes;
}

void ProgramBuilder::finish_lists() {
  program_->host_nodes = stage_.host;
  program_->remaining = stage_.remaining;
  for (const ir::NodeId id : stage_.host) {
    program_->host_steps.push_back(node(id).name);
    for (const ir::ValueId out : node(id).outputs)
      if (out != ir::kNoValue) program_->host_values.push_back(out);
  }
  program_->requested_values = stage_.requested;
  std::sort(program_->requested_values.begin(), program_->requested_values.end());
  program_->requested_values.erase(std::unique(program_->requested_values.begin(), program_->requested_values.end()),
                                   program_->requested_values.end());
  for (const ir::NodeId id : stage_.folded) program_->host_arithmetic.push_back(node(id).name);

  std::vector<bool> later(needed_later_.size(), false);
  for (const ir::NodeId id : stage_.remaining)
    for (const ir::ValueId in : node(id).inputs)
      if (in != ir::kNoValue) later[index(in)] = true;
  for (const ir::Port& port : stage_.graph.outputs()) later[index(port.value)] = true;
  std::vector<bool> held = exported_;  // in the context's environment
  for (const KnownValue& known : request_.known) held[index(known.value)] = true;
  for (const Buffer& buffer : program_->buffers)
    if (buffer.place == Place::kEnvironment) held[index(buffer.value)] = true;
  for (ir::ValueId id = 0; id < stage_.graph.value_capacity(); ++id) {
    if (!value(id).alive || !stage_.available[index(id)] || request_.graph.value(id).is_constant()) continue;
    if (later[index(id)])
      program_->carried.push_back({id, value(id).type, value(id).constant});
    else if (held[index(id)])
      program_->released.push_back(id);
  }
}

}  // namespace tutti::exec
