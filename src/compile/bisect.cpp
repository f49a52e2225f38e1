#include "compile/bisect.h"

#include <map>

#include "ir/op_def.h"

namespace tutti::compile {
namespace {

// A graph after the first so many patches, and how it came about.
struct Trial {
  ir::Graph graph;
  CompileReport report;
};

Result<Trial> after_patches(const BisectRequest& request, int64_t count) {
  Trial trial;
  trial.graph = request.original.clone();
  CompileOptions options = request.options;
  options.stop_after_patch = count;
  TUTTI_TRY(run_passes(trial.graph, request.passes, options, &trial.report));
  return trial;
}

// Operator, attributes and the names of what is read and made. Patches pass names on, so that an untouched node keeps
// all of them.
std::string signature(const ir::Graph& graph, const ir::Node& node) {
  std::string out = std::string(node.op->name) + '\n' + node.attrs.key();
  for (const auto* list : {&node.inputs, &node.outputs}) {
    out += '\n';
    for (const ir::ValueId id : *list) out += (id == ir::kNoValue ? "" : graph.value(id).name) + '\t';
  }
  return out;
}

using Nodes = std::multimap<std::string, ChangedNode>;

void collect(const ir::Graph& graph, Nodes& out) {
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    out.emplace(signature(graph, node), ChangedNode{node.name, std::string(node.op->name), node.origins});
    for (const auto& body : node.bodies) collect(*body, out);
  }
}

// What `from` has and `other` lacks, in the order of `from`'s graph.
std::vector<ChangedNode> only_in(const ir::Graph& graph, const Nodes& other) {
  std::vector<ChangedNode> out;
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    if (!other.contains(signature(graph, node))) out.push_back({node.name, std::string(node.op->name), node.origins});
    for (const auto& body : node.bodies)
      for (ChangedNode& changed : only_in(*body, other)) out.push_back(std::move(changed));
  }
  return out;
}

// The rule that was applied once more. Reports of both runs end with the same pass, unless the patch is its first.
std::string rule_of(const PassReport& now, const CompileReport& before) {
  std::map<std::string, int64_t> counts;
  if (!before.passes.empty() && before.passes.back().name == now.name && before.passes.back().patches < now.patches)
    for (const auto& [rule, count] : before.passes.back().by_rule) counts[rule] = count;
  for (const auto& [rule, count] : now.by_rule)
    if (count > counts[rule]) return rule;
  return {};
}

// The pass that applied the last patch.
const PassReport* last_active(const CompileReport& report) {
  for (size_t i = report.passes.size(); i-- > 0;)
    if (report.passes[i].patches > 0) return &report.passes[i];
  return nullptr;
}

Result<Culprit> describe(const BisectRequest& request, int64_t patch) {
  Trial before = TUTTI_TRY(after_patches(request, patch - 1)), after = TUTTI_TRY(after_patches(request, patch));
  Culprit out{.patch = patch};
  if (const PassReport* pass = last_active(after.report)) {
    out.pass = pass->name;
    out.patch_of_pass = pass->patches;
    out.rule = rule_of(*pass, before.report);
  }
  Nodes old_nodes, new_nodes;
  collect(before.graph, old_nodes);
  collect(after.graph, new_nodes);
  out.made = only_in(after.graph, old_nodes);
  out.removed = only_in(before.graph, new_nodes);
  out.graph = std::move(after.graph);
  return out;
}

}  // namespace

Result<int64_t> first_bad(int64_t good, int64_t bad, const std::function<Result<bool>(int64_t)>& is_bad) {
  while (bad - good > 1) {
    const int64_t middle = good + (bad - good) / 2;
    (TUTTI_TRY(is_bad(middle)) ? bad : good) = middle;
  }
  return bad;
}

Result<BisectReport> bisect_patches(const BisectRequest& request) {
  BisectReport report;
  const auto is_bad = [&](int64_t count) -> Result<bool> {
    const Trial trial = TUTTI_TRY(after_patches(request, count));
    ++report.tries;
    return !TUTTI_TRY(request.agrees(trial.graph).with_context(fmt::format("after {} patches", count)));
  };
  const Trial whole = TUTTI_TRY(after_patches(request, request.options.stop_after_patch));
  report.patches = whole.report.patches;
  ++report.tries;
  if (TUTTI_TRY(request.agrees(whole.graph))) return report;
  if (TUTTI_TRY(is_bad(0))) {
    report.culprit = Culprit{.graph = request.original.clone()};
    return report;
  }
  const int64_t patch = TUTTI_TRY(first_bad(0, report.patches, is_bad));
  report.culprit = TUTTI_TRY(describe(request, patch));
  return report;
}

}  // namespace tutti::compile
