#include "ir/graph.h"

#include <algorithm>
#include <queue>

#include "ir/op_def.h"

namespace tutti::ir {

Graph Graph::clone() const {
  Graph out;
  out.values_ = values_;
  out.nodes_.reserve(nodes_.size());
  for (const Node& node : nodes_) {
    Node& copy = out.nodes_.emplace_back();
    copy.op = node.op;
    copy.name = node.name;
    copy.attrs = node.attrs;
    copy.inputs = node.inputs;
    copy.outputs = node.outputs;
    for (const auto& body : node.bodies) copy.bodies.push_back(std::make_unique<Graph>(body->clone()));
    copy.origins = node.origins;
    copy.alive = node.alive;
    copy.previous = node.previous;
    copy.next = node.next;
    copy.use_positions = node.use_positions;
  }
  out.inputs_ = inputs_;
  out.outputs_ = outputs_;
  out.output_use_counts_ = output_use_counts_;
  out.first_ = first_;
  out.last_ = last_;
  out.live_nodes_ = live_nodes_;
  out.name_counter_ = name_counter_;
  out.symbols_ = symbols_;
  out.metadata_ = metadata_;
  out.name = name;
  return out;
}

ValueId Graph::add_input(std::string name, ValueType type) {
  const ValueId id = static_cast<ValueId>(values_.size());
  Value& value = values_.emplace_back();
  value.name = name;
  value.type = std::move(type);
  inputs_.push_back({std::move(name), id});
  return id;
}

ValueId Graph::add_constant(std::string name, Tensor tensor) {
  const ValueId id = static_cast<ValueId>(values_.size());
  Value& value = values_.emplace_back();
  value.name = std::move(name);
  value.type = ValueType::tensor(tensor.dtype(), to_shape(tensor.dims()));
  value.constant = std::move(tensor);
  return id;
}

NodeId Graph::add_node(NodeSpec spec, NodeId before) {
  const NodeId id = static_cast<NodeId>(nodes_.size());
  Node& node = nodes_.emplace_back();
  node.op = spec.op;
  node.name = std::move(spec.name);
  node.attrs = std::move(spec.attrs);
  if (node.attrs.empty() && spec.op->make_attrs) node.attrs = Attrs(spec.op->make_attrs());
  node.inputs = std::move(spec.inputs);
  node.origins = std::move(spec.origins);
  node.bodies = std::move(spec.bodies);
  node.use_positions.resize(node.inputs.size());
  for (size_t i = 0; i < node.inputs.size(); ++i)
    if (node.inputs[i] != kNoValue) add_use(node.inputs[i], {id, static_cast<int32_t>(i)});
  for (size_t i = 0; i < spec.output_names.size(); ++i) {
    if (spec.output_names[i].empty()) {
      node.outputs.push_back(kNoValue);
      continue;
    }
    node.outputs.push_back(static_cast<ValueId>(values_.size()));
    Value& out = values_.emplace_back();
    out.name = std::move(spec.output_names[i]);
    out.producer = id;
    out.output_index = static_cast<int32_t>(i);
  }
  link(id, before);
  ++live_nodes_;
  return id;
}

void Graph::add_output(std::string name, ValueId value) {
  outputs_.push_back({std::move(name), value});
  output_use_counts_.resize(values_.size());
  ++output_use_counts_[static_cast<size_t>(value)];
}

int Graph::output_uses(ValueId id) const {
  return static_cast<size_t>(id) < output_use_counts_.size() ? output_use_counts_[static_cast<size_t>(id)] : 0;
}

const Node* Graph::producer(ValueId id) const {
  if (id == kNoValue) return nullptr;
  const NodeId node_id = value(id).producer;
  return node_id == kNoNode ? nullptr : &node(node_id);
}

std::vector<NodeId> Graph::order() const {
  std::vector<NodeId> out;
  out.reserve(static_cast<size_t>(live_nodes_));
  for (NodeId id = first_; id != kNoNode; id = node(id).next) out.push_back(id);
  return out;
}

void Graph::set_input(NodeId node_id, int slot, ValueId new_value) {
  Node& changed = node(node_id);
  const auto index = static_cast<size_t>(slot);
  if (index == changed.inputs.size()) {
    changed.inputs.push_back(kNoValue);
    changed.use_positions.push_back(0);
  }
  if (changed.inputs[index] != kNoValue) drop_use(changed.inputs[index], {node_id, slot});
  changed.inputs[index] = new_value;
  if (new_value != kNoValue) add_use(new_value, {node_id, slot});
}

void Graph::replace_uses(ValueId old_value, ValueId new_value) {
  if (old_value == new_value) return;
  std::vector<Use> uses = std::move(value(old_value).uses);
  value(old_value).uses.clear();
  for (const Use& use : uses) {
    node(use.node).inputs[static_cast<size_t>(use.slot)] = new_value;
    add_use(new_value, use);
  }
  if (output_uses(old_value) == 0) return;
  for (size_t i = 0; i < outputs_.size(); ++i)
    if (outputs_[i].value == old_value) set_output(static_cast<int>(i), new_value);
}

void Graph::set_output(int index, ValueId new_value) {
  output_use_counts_.resize(values_.size());
  Port& port = outputs_[static_cast<size_t>(index)];
  --output_use_counts_[static_cast<size_t>(port.value)];
  port.value = new_value;
  ++output_use_counts_[static_cast<size_t>(new_value)];
}

void Graph::remove_output(int index) {
  --output_use_counts_[static_cast<size_t>(outputs_[static_cast<size_t>(index)].value)];
  outputs_.erase(outputs_.begin() + index);
}

void Graph::remove_graph_input(int index) {
  const ValueId id = inputs_[static_cast<size_t>(index)].value;
  TUTTI_CHECK(value(id).uses.empty() && !is_output(id));
  inputs_.erase(inputs_.begin() + index);
  value(id).alive = false;
}

void Graph::remove_node(NodeId id) {
  Node& removed = node(id);
  for (const ValueId out : removed.outputs) {
    if (out == kNoValue) continue;
    TUTTI_CHECK(value(out).uses.empty() && !is_output(out), "removing node {} whose output {} is used", removed.name,
                value(out).name);
    value(out).alive = false;
  }
  for (size_t i = 0; i < removed.inputs.size(); ++i)
    if (removed.inputs[i] != kNoValue) drop_use(removed.inputs[i], {id, static_cast<int32_t>(i)});
  unlink(id);
  removed.alive = false;
  removed.bodies.clear();
  removed.inputs.clear();
  removed.use_positions.clear();
  --live_nodes_;
}

void Graph::remove_value(ValueId id) {
  Value& removed = value(id);
  TUTTI_CHECK(removed.uses.empty() && !is_output(id) && removed.producer == kNoNode);
  removed.constant = Tensor();
  removed.alive = false;
}

void Graph::move_before(NodeId id, NodeId before) {
  unlink(id);
  link(id, before);
}

Status Graph::sort_topologically() {
  // Kahn's algorithm; the ready node that stood first goes first, so that a sorted graph stays as it is.
  std::vector<int32_t> waiting(nodes_.size()), position(nodes_.size());
  using Ready = std::pair<int32_t, NodeId>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  const std::vector<NodeId> old_order = order();
  for (size_t i = 0; i < old_order.size(); ++i) {
    const NodeId id = old_order[i];
    position[static_cast<size_t>(id)] = static_cast<int32_t>(i);
    for (const ValueId in : node(id).inputs)
      if (in != kNoValue && value(in).producer != kNoNode) ++waiting[static_cast<size_t>(id)];
    if (waiting[static_cast<size_t>(id)] == 0) ready.push({static_cast<int32_t>(i), id});
  }
  std::vector<NodeId> sorted;
  while (!ready.empty()) {
    const NodeId id = ready.top().second;
    ready.pop();
    sorted.push_back(id);
    for (const ValueId out : node(id).outputs) {
      if (out == kNoValue) continue;
      for (const Use& use : value(out).uses)
        if (--waiting[static_cast<size_t>(use.node)] == 0)
          ready.push({position[static_cast<size_t>(use.node)], use.node});
    }
  }
  if (sorted.size() != old_order.size()) {
    for (const NodeId id : old_order)
      if (waiting[static_cast<size_t>(id)] > 0)
        return make_error(Code::kInvalidModel,
                          "the graph has a cycle through node '{}' ({}): found a node that depends on its own output, "
                          "expected an acyclic graph",
                          node(id).name, node(id).op->name);
  }
  first_ = last_ = kNoNode;
  for (const NodeId id : sorted) {
    node(id).previous = node(id).next = kNoNode;
    link(id, kNoNode);
  }
  return {};
}

std::string Graph::unique_name(std::string_view prefix) { return fmt::format("{}${}", prefix, name_counter_++); }

Dim Graph::fresh_symbol(std::string_view prefix, Range range) {
  std::string symbol = fmt::format("{}_{}", prefix, name_counter_++);
  while (symbols_.contains(symbol)) symbol = fmt::format("{}_{}", prefix, name_counter_++);
  symbols_.emplace(symbol, range);
  return Dim::symbol(symbol);
}

void Graph::link(NodeId id, NodeId before) {
  Node& linked = node(id);
  linked.next = before;
  linked.previous = before == kNoNode ? last_ : node(before).previous;
  (linked.previous == kNoNode ? first_ : node(linked.previous).next) = id;
  (before == kNoNode ? last_ : node(before).previous) = id;
}

void Graph::unlink(NodeId id) {
  Node& removed = node(id);
  (removed.previous == kNoNode ? first_ : node(removed.previous).next) = removed.next;
  (removed.next == kNoNode ? last_ : node(removed.next).previous) = removed.previous;
  removed.previous = removed.next = kNoNode;
}

void Graph::add_use(ValueId id, Use use) {
  std::vector<Use>& uses = value(id).uses;
  node(use.node).use_positions[static_cast<size_t>(use.slot)] = static_cast<int32_t>(uses.size());
  uses.push_back(use);
}

// Constant time, whatever the number of uses: the last use takes the dropped one's place.
void Graph::drop_use(ValueId id, Use use) {
  std::vector<Use>& uses = value(id).uses;
  const auto position = static_cast<size_t>(node(use.node).use_positions[static_cast<size_t>(use.slot)]);
  TUTTI_CHECK(position < uses.size() && uses[position] == use, "value {} has no such use", value(id).name);
  uses[position] = uses.back();
  node(uses[position].node).use_positions[static_cast<size_t>(uses[position].slot)] = static_cast<int32_t>(position);
  uses.pop_back();
}

}  // namespace tutti::ir
