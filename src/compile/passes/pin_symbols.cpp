// pin_symbols: an open dim that a Reshape to a known size allows one value only -> that number, in the whole graph.
// Needs: types. Leaves: no such dims; a model exported for one batch size says so in its inputs.
#include <algorithm>

#include "compile/passes/match.h"
#include "compile/passes/passes.h"
#include "ir/infer.h"

namespace tutti::compile {
namespace {

using ir::Dim;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;
using Numbers = std::map<std::string, Dim, std::less<>>;

std::optional<int64_t> known_count(const Graph& graph, ValueId target) {
  const auto numbers = ints_of(graph, target);
  if (!numbers || std::any_of(numbers->begin(), numbers->end(), [](int64_t n) { return n <= 0; })) return std::nullopt;
  const auto count = ir::checked_element_count(*numbers);
  return count.ok() ? std::optional(*count) : std::nullopt;
}

// The one symbol of the data and its only possible value: count = c * symbol.
std::optional<std::pair<std::string, int64_t>> pinned_by(const Graph& graph, const Node& node) {
  if (!is_op(node, "Reshape") || !graph.value(node.inputs[0]).type.has_rank()) return std::nullopt;
  const auto wanted = known_count(graph, input_of(node, 1));
  if (!wanted) return std::nullopt;
  Dim count(1);
  for (const Dim& dim : *graph.value(node.inputs[0]).type.shape) count = count * dim;
  std::vector<std::string> symbols;
  count.collect_symbols(symbols);
  if (symbols.size() != 1) return std::nullopt;
  const Dim factor = Dim::floor_div(count, Dim::symbol(symbols[0]));
  const auto each = factor.constant();
  if (!each || *each <= 0 || !(factor * Dim::symbol(symbols[0]) == count) || *wanted % *each != 0) return std::nullopt;
  return std::pair(symbols[0], *wanted / *each);
}

void substitute(Graph& graph, const Numbers& numbers) {
  for (ValueId id = 0; id < graph.value_capacity(); ++id) {
    ir::Value& value = graph.value(id);
    if (!value.alive) continue;
    if (value.type.shape)
      for (Dim& dim : *value.type.shape) dim = dim.substitute(numbers);
    if (value.dims_value)
      for (Dim& dim : *value.dims_value) dim = dim.substitute(numbers);
  }
  for (const auto& [name, number] : numbers) graph.symbols().erase(name);
  for (const NodeId id : graph.order())
    for (auto& body : graph.node(id).bodies) substitute(*body, numbers);
}

}  // namespace

// Only the main graph's own nodes count: they run whatever the data is, so with any other size the model fails.
Result<PassStats> run_pin_symbols(ir::Graph& graph, PassContext& context) {
  PassStats stats;
  Numbers numbers;
  for (const NodeId id : graph.order()) {
    const auto pinned = pinned_by(graph, graph.node(id));
    if (!pinned || stats.patches >= context.patch_limit) continue;
    if (numbers.emplace(pinned->first, Dim(pinned->second)).second) ++stats.patches;
  }
  if (numbers.empty()) return stats;
  substitute(graph, numbers);
  TUTTI_TRY(ir::infer_graph(graph));
  stats.by_rule.emplace_back("reshape_to_known_size", stats.patches);
  return stats;
}

}  // namespace tutti::compile
