#include "ir/verify.h"

#include <algorithm>

#include "ir/op_def.h"

namespace tutti::ir {
namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph), defined_(static_cast<size_t>(graph.value_capacity())) {}

  Status run() {
    for (const Port& port : graph_.inputs()) defined_[static_cast<size_t>(port.value)] = true;
    for (ValueId id = 0; id < graph_.value_capacity(); ++id)
      if (graph_.value(id).alive && graph_.value(id).is_constant()) defined_[static_cast<size_t>(id)] = true;
    int32_t count = 0;
    for (NodeId id = graph_.first_node(); id != kNoNode; id = graph_.next_node(id), ++count) TUTTI_TRY(check_node(id));
    if (count != graph_.node_count()) return fail("the order holds {} nodes, expected {}", count, graph_.node_count());
    for (const Port& port : graph_.outputs())
      if (!is_live(port.value) || !defined_[static_cast<size_t>(port.value)])
        return fail("graph output '{}' has no value", port.name);
    return check_uses();
  }

 private:
  template <class... Args>
  Error fail(fmt::format_string<Args...> format, Args&&... args) const {
    return Error(Code::kInternal, fmt::format("graph check: {}", fmt::format(format, std::forward<Args>(args)...)));
  }
  bool is_live(ValueId id) const { return id >= 0 && id < graph_.value_capacity() && graph_.value(id).alive; }

  Status check_node(NodeId id) {
    const Node& node = graph_.node(id);
    if (!node.alive || !node.op) return fail("node {} '{}' is in the order but not alive", id, node.name);
    const int inputs = static_cast<int>(node.inputs.size()), outputs = static_cast<int>(node.outputs.size());
    if (inputs < node.op->min_inputs || inputs > node.op->max_inputs || outputs > node.op->max_outputs)
      return fail("node '{}' ({}) has {} inputs and {} outputs", node.name, node.op->name, inputs, outputs);
    if (static_cast<int>(node.bodies.size()) != node.op->body_count)
      return fail("node '{}' ({}) has {} bodies", node.name, node.op->name, node.bodies.size());
    for (int slot = 0; slot < inputs; ++slot) TUTTI_TRY(check_input(id, slot));
    for (int i = 0; i < outputs; ++i) TUTTI_TRY(check_output(id, i));
    for (const auto& body : node.bodies)
      TUTTI_TRY(verify_graph(*body).with_context(fmt::format("body of '{}'", node.name)));
    return {};
  }

  Status check_input(NodeId id, int slot) const {
    const Node& node = graph_.node(id);
    const ValueId in = node.inputs[static_cast<size_t>(slot)];
    if (in == kNoValue) return {};
    if (!is_live(in)) return fail("node '{}' ({}) reads a removed value in slot {}", node.name, node.op->name, slot);
    if (!defined_[static_cast<size_t>(in)])
      return fail("node '{}' ({}) reads '{}' before it is made", node.name, node.op->name, graph_.value(in).name);
    return {};
  }

  Status check_output(NodeId id, int index) {
    const Node& node = graph_.node(id);
    const ValueId out = node.outputs[static_cast<size_t>(index)];
    if (out == kNoValue) return {};
    if (!is_live(out)) return fail("node '{}' ({}) makes a removed value", node.name, node.op->name);
    const Value& value = graph_.value(out);
    if (value.producer != id || value.output_index != index)
      return fail("value '{}' does not know its producer '{}'", value.name, node.name);
    if (value.type.dtype == DType::kUndefined)
      return fail("value '{}' of '{}' ({}) has no type", value.name, node.name, node.op->name);
    if (defined_[static_cast<size_t>(out)]) return fail("value '{}' is made twice", value.name);
    defined_[static_cast<size_t>(out)] = true;
    return {};
  }

  // Each listed use is real, and there are as many as there are inputs: so the lists are complete.
  Status check_uses() const {
    int64_t listed = 0, real = 0;
    for (ValueId id = 0; id < graph_.value_capacity(); ++id) {
      const Value& value = graph_.value(id);
      if (!value.alive) continue;
      for (const Use& use : value.uses) {
        const Node& node = graph_.node(use.node);
        if (!node.alive || static_cast<size_t>(use.slot) >= node.inputs.size() ||
            node.inputs[static_cast<size_t>(use.slot)] != id)
          return fail("value '{}' lists a use that is not there", value.name);
      }
      listed += static_cast<int64_t>(value.uses.size());
    }
    for (NodeId n = graph_.first_node(); n != kNoNode; n = graph_.next_node(n))
      real += std::count_if(graph_.node(n).inputs.begin(), graph_.node(n).inputs.end(),
                            [](ValueId in) { return in != kNoValue; });
    if (real != listed) return fail("found {} listed uses, expected {}", listed, real);
    return {};
  }

  const Graph& graph_;
  std::vector<bool> defined_;
};

}  // namespace

Status verify_graph(const Graph& graph) { return Verifier(graph).run(); }

}  // namespace tutti::ir
