#include "ir/rewrite.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "ir/infer.h"
#include "ir/patch_applier.h"

namespace tutti::ir {

ValueId Patch::constant(Tensor tensor) {
  const ValueId id = graph_->value_capacity() + new_values_++;
  constants_.emplace_back(id, std::move(tensor));
  return id;
}

ValueId Patch::node(const OpDef& op, std::vector<ValueId> inputs, Attrs attrs) {
  return node_outputs(op, std::move(inputs), std::move(attrs), 1)[0];
}

std::vector<ValueId> Patch::node_outputs(const OpDef& op, std::vector<ValueId> inputs, Attrs attrs, int output_count) {
  const ValueId first = graph_->value_capacity() + new_values_;
  new_values_ += output_count;
  nodes_.push_back({&op, std::move(attrs), std::move(inputs), first, output_count});
  std::vector<ValueId> out;
  for (int i = 0; i < output_count; ++i) out.push_back(first + i);
  return out;
}

namespace {

constexpr int kNeighbourDepth = 3;     // how far below a change a pattern's root may stand
constexpr size_t kNeighbourWidth = 8;  // fans wider than this are not searched: the next sweep finds what is left
constexpr int kMaxSweeps = 4;

// One graph's worklist. Each node is in the queue at most once; a sweep starts with all nodes in order.
class Driver {
 public:
  Driver(Graph& graph, std::span<const Rule> rules, const RewriteOptions& options, RewriteStats& stats)
      : graph_(graph), rules_(rules), options_(options), stats_(stats), counts_(rules.size()) {
    for (size_t i = 0; i < rules.size(); ++i)
      for (const OpDef* root : rules[i].roots) by_root_[root].push_back(i);
    for (size_t i = 0; i < rules.size(); ++i)
      if (rules[i].roots.empty()) anywhere_.push_back(i);
  }

  Status run() {
    const int64_t before = stats_.patches;
    for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
      const int64_t sweep_start = stats_.patches;
      for (const NodeId id : graph_.order()) enqueue(id);
      TUTTI_TRY(drain());
      if (stats_.patches == sweep_start || stats_.patches >= options_.patch_limit) break;
    }
    if (stats_.patches == before) return {};
    for (size_t i = 0; i < rules_.size(); ++i) count_rule(rules_[i].name, counts_[i]);
    return graph_.sort_topologically();
  }

 private:
  void count_rule(std::string_view name, int64_t count) {
    if (count == 0) return;
    for (auto& [known, total] : stats_.by_rule)
      if (known == name) return void(total += count);
    stats_.by_rule.emplace_back(name, count);
  }

  void enqueue(NodeId id) {
    if (static_cast<size_t>(id) >= queued_.size()) queued_.resize(static_cast<size_t>(graph_.node_capacity()));
    if (queued_[static_cast<size_t>(id)]) return;
    queued_[static_cast<size_t>(id)] = true;
    queue_.push_back(id);
  }

  Status drain() {
    while (!queue_.empty()) {
      const NodeId id = queue_.front();
      queue_.pop_front();
      queued_[static_cast<size_t>(id)] = false;
      if (!graph_.node(id).alive) continue;
      TUTTI_TRY(refresh(id));
      if (stats_.patches < options_.patch_limit) TUTTI_TRY(visit(id));
    }
    return {};
  }

  // Infers a node whose inputs a patch changed; passes a change of type on to its users.
  Status refresh(NodeId id) {
    const auto dirty = dirty_.find(id);
    if (dirty == dirty_.end()) return {};
    const std::string patch = std::move(dirty->second);
    dirty_.erase(dirty);
    if (!options_.check_each_patch) return {};
    const bool changed =
        TUTTI_TRY(reinfer_keeping_symbols(graph_, id).with_context(fmt::format("after patch '{}'", patch)));
    if (!changed) return {};
    for (const ValueId out : graph_.node(id).outputs)
      if (out != kNoValue)
        for (const Use& use : graph_.value(out).uses) mark_dirty(use.node, patch);
    return {};
  }

  void mark_dirty(NodeId id, const std::string& patch) {
    dirty_[id] = patch;
    enqueue(id);
  }

  Status visit(NodeId id) {
    TUTTI_TRY(visit_bodies(id));
    const auto specific = by_root_.find(graph_.node(id).op);
    if (specific != by_root_.end())
      for (const size_t rule : specific->second)
        if (TUTTI_TRY(try_rule(rule, id))) return {};
    for (const size_t rule : anywhere_)
      if (TUTTI_TRY(try_rule(rule, id))) return {};
    return {};
  }

  // Bodies are rewritten once, when their node is first met.
  Status visit_bodies(NodeId id) {
    if (graph_.node(id).bodies.empty() || !bodies_done_.insert(id).second) return {};
    for (size_t i = 0; i < graph_.node(id).bodies.size(); ++i) {
      Status status = Driver(*graph_.node(id).bodies[i], rules_, options_, stats_).run();
      if (!status.ok())
        return status.take_error().with_context(fmt::format("body {} of node '{}'", i, graph_.node(id).name));
    }
    return {};
  }

  Result<bool> try_rule(size_t index, NodeId id) {
    std::optional<Patch> patch = rules_[index].match(graph_, id);
    if (!patch) return false;
    if (counts_[index] > most_patches_)
      return make_error(Code::kInternal, "rule '{}' does not come to an end: found {} patches on {} nodes",
                        rules_[index].name, counts_[index], graph_.node_count());
    PatchApplier applier(graph_, *patch, id);
    TUTTI_TRY(
        applier.apply().with_context(fmt::format("patch '{}' at node '{}'", patch->name(), graph_.node(id).name)));
    ++stats_.patches;
    ++counts_[index];
    for (const NodeId user : applier.changed_users())
      if (graph_.node(user).alive) mark_dirty(user, patch->name());
    for (const NodeId touched : applier.touched())
      if (graph_.node(touched).alive) enqueue_below(touched, kNeighbourDepth);
    if (graph_.node(id).alive) enqueue(id);
    return true;
  }

  void enqueue_below(NodeId id, int depth) {
    enqueue(id);
    if (depth == 0) return;
    for (const ValueId out : graph_.node(id).outputs) {
      if (out == kNoValue || graph_.value(out).uses.size() > kNeighbourWidth) continue;
      for (const Use& use : graph_.value(out).uses) enqueue_below(use.node, depth - 1);
    }
  }

  Graph& graph_;
  std::span<const Rule> rules_;
  const RewriteOptions& options_;
  RewriteStats& stats_;
  // No rule takes a node apart more often than this; one that does is undone by another.
  const int64_t most_patches_ = 64 + 16 * static_cast<int64_t>(graph_.node_count());
  std::vector<int64_t> counts_;
  std::map<const OpDef*, std::vector<size_t>> by_root_;
  std::vector<size_t> anywhere_;
  std::deque<NodeId> queue_;
  std::vector<bool> queued_;
  std::map<NodeId, std::string> dirty_;
  std::set<NodeId> bodies_done_;
};

bool is_unwanted(const Graph& graph, NodeId id) {
  for (const ValueId out : graph.node(id).outputs)
    if (out != kNoValue && (!graph.value(out).uses.empty() || graph.is_output(out))) return false;
  return true;
}

}  // namespace

Result<RewriteStats> rewrite(Graph& graph, std::span<const Rule> rules, const RewriteOptions& options) {
  RewriteStats stats;
  TUTTI_TRY(Driver(graph, rules, options, stats).run());
  return stats;
}

int64_t remove_dead_nodes(Graph& graph) {
  int64_t removed = 0;
  const std::vector<NodeId> order = graph.order();
  for (size_t i = order.size(); i-- > 0;) {
    if (is_unwanted(graph, order[i])) {
      graph.remove_node(order[i]);
      ++removed;
      continue;
    }
    for (auto& body : graph.node(order[i]).bodies) removed += remove_dead_nodes(*body);
  }
  for (ValueId id = 0; id < graph.value_capacity(); ++id) {
    const Value& value = graph.value(id);
    if (value.alive && value.is_constant() && value.uses.empty() && !graph.is_output(id)) graph.remove_value(id);
  }
  return removed;
}

}  // namespace tutti::ir
