// fold_constants: nodes whose inputs are all constants -> their results, unless those take much more memory. Needs:
// types. Leaves: no small constant work.
#include <algorithm>

#include "compile/passes/match.h"
#include "compile/passes/passes.h"
#include "engine/file_pages.h"
#include "ir/op_def.h"
#include "ops/interpreter.h"

namespace tutti::compile {
namespace {

constexpr int64_t kAlwaysFoldBytes = 64 << 10;
constexpr int64_t kGrowth = 4;  // int8 weights become float32 once, instead of at each run

bool has_only_constant_inputs(const ir::Graph& graph, const ir::Node& node) {
  return std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](ir::ValueId in) { return in == ir::kNoValue || graph.value(in).is_constant(); });
}

int64_t input_bytes(const ir::Graph& graph, const ir::Node& node) {
  int64_t bytes = 0;
  for (const ir::ValueId in : node.inputs)
    if (in != ir::kNoValue) bytes += static_cast<int64_t>(graph.value(in).constant.size_bytes());
  return bytes;
}

// Asks the types first: a result that is too large must not be computed either.
bool may_be_worth_it(const ir::Graph& graph, const ir::Node& node) {
  int64_t bytes = 0;
  for (const ir::ValueId out : node.outputs) {
    if (out == ir::kNoValue) continue;
    const ir::ValueType& type = graph.value(out).type;
    if (!type.is_tensor()) return false;
    const auto dims = type.static_dims();
    if (!dims) continue;
    const auto count = ir::checked_element_count(*dims);
    if (!count.ok() || *count > (int64_t{1} << 40)) return false;
    bytes += *count * std::max(1, ir::dtype_bits(type.dtype)) / 8;
  }
  return bytes <= std::max(kAlwaysFoldBytes, kGrowth * input_bytes(graph, node));
}

}  // namespace

std::optional<ir::Patch> fold_node(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  if (node.op->has(ir::kRandom) || !node.bodies.empty() || !has_only_constant_inputs(graph, node) ||
      !may_be_worth_it(graph, node))
    return std::nullopt;
  std::vector<ir::Datum> inputs;
  for (const ir::ValueId in : node.inputs)
    inputs.push_back(in == ir::kNoValue ? ir::Datum() : ir::Datum(graph.value(in).constant));
  // std::vector<bool> has no array to point at.
  const auto wanted = std::make_unique<bool[]>(node.outputs.size());
  for (size_t i = 0; i < node.outputs.size(); ++i) wanted[i] = node.outputs[i] != ir::kNoValue;
  Result<std::vector<ir::Datum>> results = ops::evaluate({.op = *node.op,
                                                          .attrs = node.attrs,
                                                          .inputs = inputs,
                                                          .output_count = static_cast<int>(node.outputs.size()),
                                                          .wanted = {wanted.get(), node.outputs.size()}});
  for (const ir::Datum& in : inputs)
    if (in.is_tensor()) engine::drop_pages(in.tensor());
  // What fails here would fail at run time, if it is ever run: the error belongs there.
  if (!results.ok()) return std::nullopt;
  ir::Patch patch(graph, "fold");
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!wanted[i]) continue;
    if (!(*results)[i].is_tensor()) return std::nullopt;
    patch.replace(node.outputs[i], patch.constant((*results)[i].tensor()));
  }
  return patch;
}

Result<PassStats> run_fold_constants(ir::Graph& graph, PassContext& context) {
  const ir::Rule rules[] = {{"fold", {}, fold_node}};
  return apply_rules(graph, rules, context);
}

}  // namespace tutti::compile
