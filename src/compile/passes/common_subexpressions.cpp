// common_subexpressions: equal constants, and nodes of equal op, attributes and inputs -> the first one. Needs: order.
// Leaves: no duplicates.
#include <unordered_map>

#include "compile/passes/passes.h"
#include "engine/file_pages.h"
#include "ir/content_hash.h"
#include "ir/op_def.h"

namespace tutti::compile {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::ValueId;

class Merger {
 public:
  Merger(Graph& graph, int64_t limit) : graph_(graph), limit_(limit) {}

  void run() {
    constants();
    for (const NodeId id : graph_.order()) {
      for (auto& body : graph_.node(id).bodies) {
        Merger inner(*body, limit_ - merged());
        inner.run();
        constants_ += inner.constants_;
        nodes_ += inner.nodes_;
      }
      if (merged() >= limit_) return;
      node(id);
    }
  }

  PassStats stats() const {
    PassStats stats{.patches = merged()};
    if (constants_) stats.by_rule.emplace_back("equal_constants", constants_);
    if (nodes_) stats.by_rule.emplace_back("equal_nodes", nodes_);
    return stats;
  }

 private:
  int64_t merged() const { return constants_ + nodes_; }

  void constants() {
    std::unordered_multimap<uint64_t, ValueId> known;
    for (ValueId id = 0; id < graph_.value_capacity() && merged() < limit_; ++id) {
      const ir::Value& value = graph_.value(id);
      if (!value.alive || !value.is_constant() || graph_.is_output(id)) continue;
      const uint64_t hash = ir::content_hash(value.constant);
      const auto [begin, end] = known.equal_range(hash);
      auto same = begin;
      while (same != end && !identical(graph_.value(same->second).constant, value.constant)) ++same;
      if (same == end) {
        engine::drop_pages(value.constant);
        known.emplace(hash, id);
        continue;
      }
      graph_.replace_uses(id, same->second);
      graph_.remove_value(id);
      ++constants_;
    }
  }

  std::string key(const ir::Node& node) const {
    std::string out = fmt::format("{}|{}|", node.op->name, node.attrs.key());
    std::vector<ValueId> inputs = node.inputs;
    if (node.op->has(ir::kCommutative) && inputs.size() >= 2 && inputs[0] > inputs[1]) std::swap(inputs[0], inputs[1]);
    for (const ValueId in : inputs) out += fmt::format("{},", in);
    for (const ValueId made : node.outputs) out += made == ir::kNoValue ? '_' : 'o';
    return out;
  }

  void node(NodeId id) {
    const ir::Node& node = graph_.node(id);
    if (node.op->has(ir::kRandom) || !node.bodies.empty()) return;
    const auto [first, is_new] = known_.emplace(key(node), id);
    if (is_new) return;
    const ir::Node& kept = graph_.node(first->second);
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i] != ir::kNoValue) graph_.replace_uses(node.outputs[i], kept.outputs[i]);
    graph_.remove_node(id);
    ++nodes_;
  }

  Graph& graph_;
  int64_t limit_;
  int64_t constants_ = 0, nodes_ = 0;
  std::unordered_map<std::string, NodeId> known_;
};

}  // namespace

Result<PassStats> run_common_subexpressions(ir::Graph& graph, PassContext& context) {
  Merger merger(graph, context.patch_limit);
  merger.run();
  return merger.stats();
}

}  // namespace tutti::compile
