// shape_arithmetic: values known from shapes, and integers computed from constants -> constants; Reshape and Expand
// targets -> constants. Needs: types, dims_value. Leaves: no provable shape chains.
#include "compile/passes/match.h"
#include "compile/passes/passes.h"

namespace tutti::compile {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;

// Shape, Gather, Concat... whose elements are all numbers.
std::optional<ir::Patch> known_value(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  ir::Patch patch(graph, "known_value");
  bool any = false;
  for (const ir::ValueId out : node.outputs) {
    if (out == ir::kNoValue || !graph.value(out).dims_value) continue;
    const auto numbers = ir::to_dims(*graph.value(out).dims_value);
    const auto dims = static_dims_of(graph, out);
    const ir::DType dtype = dtype_of(graph, out);
    if (!numbers || !dims || !(is_integer(dtype) || dtype == ir::DType::kBool)) continue;
    if (ir::element_count(*dims) != static_cast<int64_t>(numbers->size())) continue;
    ir::Tensor tensor = ir::Tensor::allocate(dtype, *dims);
    for (size_t i = 0; i < numbers->size(); ++i) tensor.set_int(static_cast<int64_t>(i), (*numbers)[i]);
    patch.replace(out, patch.constant(std::move(tensor)));
    any = true;
  }
  return any ? std::optional(std::move(patch)) : std::nullopt;
}

// The result's own shape says what the target comes to, a -1 in it included.
std::optional<ir::Patch> reshape_target(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!has_input(node, 1) || graph.value(node.inputs[1]).is_constant()) return std::nullopt;
  const auto& to = graph.value(node.outputs[0]).type.shape;
  const auto& from = graph.value(node.inputs[0]).type.shape;
  if (!to || !from) return std::nullopt;
  const auto target = reshape_numbers(graph, *from, *to);
  if (!target) return std::nullopt;
  ir::Patch patch(graph, "reshape_target");
  const ir::ValueId shape = patch.constant(ir::Tensor::from<int64_t>({static_cast<int64_t>(target->size())}, *target));
  patch.replace(node.outputs[0], patch.node(*node.op, {node.inputs[0], shape}));
  return patch;
}

// A dim of 1 in the target leaves the data's dim: where target and data agree, the target may as well be 1.
std::optional<ir::Patch> expand_target(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!has_input(node, 1) || graph.value(node.inputs[1]).is_constant()) return std::nullopt;
  const auto& to = graph.value(node.inputs[1]).dims_value;
  const auto& from = graph.value(node.inputs[0]).type.shape;
  if (!to || !from) return std::nullopt;
  std::vector<int64_t> target;
  for (size_t i = 0; i < to->size(); ++i) {
    const int64_t at = static_cast<int64_t>(i + from->size()) - static_cast<int64_t>(to->size());
    const auto number = (*to)[i].constant();
    if (number)
      target.push_back(*number);
    else if (at >= 0 && (*from)[static_cast<size_t>(at)] == (*to)[i])
      target.push_back(1);
    else
      return std::nullopt;
  }
  ir::Patch patch(graph, "expand_target");
  const ir::ValueId shape = patch.constant(ir::Tensor::from<int64_t>({static_cast<int64_t>(target.size())}, target));
  patch.replace(node.outputs[0], patch.node(*node.op, {node.inputs[0], shape}, node.attrs));
  return patch;
}

// Small integers from constants: pads, slices and targets that the shapes of what follows hang on. One fixpoint with
// the other rules, because each shape that becomes known makes more of them constant.
std::optional<ir::Patch> fold_integers(const Graph& graph, NodeId id) {
  for (const ir::ValueId out : graph.node(id).outputs) {
    if (out == ir::kNoValue) continue;
    const ir::DType dtype = dtype_of(graph, out);
    if (!is_integer(dtype) && dtype != ir::DType::kBool) return std::nullopt;
  }
  return fold_node(graph, id);
}

}  // namespace

Result<PassStats> run_shape_arithmetic(ir::Graph& graph, PassContext& context) {
  const ir::Rule rules[] = {
      {"reshape_target", ops_named({"Reshape"}), reshape_target},
      {"expand_target", ops_named({"Expand"}), expand_target},
      {"known_value", {}, known_value},
      {"fold_integers", {}, fold_integers},
  };
  return apply_rules(graph, rules, context);
}

}  // namespace tutti::compile
