// decide_if: If with a constant condition -> the nodes of the branch that it takes. Needs: types. Leaves: no decided
// If.
#include <unordered_map>

#include "compile/passes/match.h"
#include "compile/passes/passes.h"

namespace tutti::compile {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

// Copies a body's nodes before a node of the outer graph.
class Inliner {
 public:
  Inliner(Graph& outer, NodeId at, const Graph& body) : outer_(outer), at_(at), body_(body) {}

  // The outer values that stand for the body's outputs.
  std::vector<ValueId> inline_with(std::span<const ValueId> inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) ids_[body_.inputs()[i].value] = inputs[i];
    for (const auto& [symbol, range] : body_.symbols()) outer_.symbols().emplace(symbol, range);
    for (const NodeId id : body_.order()) copy_node(body_.node(id));
    std::vector<ValueId> out;
    for (const ir::Port& port : body_.outputs()) out.push_back(mapped(port.value));
    return out;
  }

 private:
  ValueId mapped(ValueId id) {
    if (id == ir::kNoValue) return id;
    const auto known = ids_.find(id);
    if (known != ids_.end()) return known->second;
    const ir::Value& value = body_.value(id);
    return ids_[id] = outer_.add_constant(outer_.unique_name(value.name), value.constant);
  }

  void copy_node(const Node& node) {
    ir::NodeSpec spec{.op = node.op, .attrs = node.attrs, .name = node.name, .origins = node.origins};
    for (const ValueId in : node.inputs) spec.inputs.push_back(mapped(in));
    for (const ValueId out : node.outputs)
      spec.output_names.push_back(out == ir::kNoValue ? "" : outer_.unique_name(body_.value(out).name));
    for (const auto& inner : node.bodies) spec.bodies.push_back(std::make_unique<Graph>(inner->clone()));
    const NodeId made = outer_.add_node(std::move(spec), at_);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == ir::kNoValue) continue;
      const ValueId out = outer_.node(made).outputs[i];
      outer_.value(out).type = body_.value(node.outputs[i]).type;
      outer_.value(out).dims_value = body_.value(node.outputs[i]).dims_value;
      ids_[node.outputs[i]] = out;
    }
  }

  Graph& outer_;
  NodeId at_;
  const Graph& body_;
  std::unordered_map<ValueId, ValueId> ids_;
};

void decide(Graph& graph, NodeId id, bool condition) {
  // Taken out of the node: adding nodes moves the graph's own storage.
  const std::unique_ptr<Graph> body = std::move(graph.node(id).bodies[condition ? 0 : 1]);
  const std::vector<ValueId> captures(graph.node(id).inputs.begin() + 1, graph.node(id).inputs.end());
  const std::vector<ValueId> results = Inliner(graph, id, *body).inline_with(captures);
  const std::vector<ValueId> outputs = graph.node(id).outputs;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i] != ir::kNoValue) graph.replace_uses(outputs[i], results[i]);
  graph.remove_node(id);
}

int64_t decide_all(Graph& graph, int64_t limit) {
  int64_t decided = 0;
  // An inlined branch may hold another decided If; its nodes stand before their If, so the walk restarts at the first
  // of them.
  NodeId next = graph.first_node();
  while (next != ir::kNoNode && decided < limit) {
    const NodeId id = next;
    next = graph.next_node(id);
    const ir::Tensor* condition = is_op(graph.node(id), "If") ? constant_of(graph, graph.node(id).inputs[0]) : nullptr;
    if (condition && condition->size() == 1) {
      const NodeId before = graph.node(id).previous;
      decide(graph, id, condition->get_int(0) != 0);
      next = before == ir::kNoNode ? graph.first_node() : graph.next_node(before);
      ++decided;
      continue;
    }
    for (auto& body : graph.node(id).bodies) decided += decide_all(*body, limit - decided);
  }
  return decided;
}

}  // namespace

Result<PassStats> run_decide_if(ir::Graph& graph, PassContext& context) {
  PassStats stats{.patches = decide_all(graph, context.patch_limit)};
  if (stats.patches == 0) return stats;
  stats.by_rule.emplace_back("constant_condition", stats.patches);
  ir::remove_dead_nodes(graph);
  return stats;
}

}  // namespace tutti::compile
