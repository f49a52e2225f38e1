// cancel: pairs that undo each other, and views that change nothing -> their input. Needs: types. Leaves: no such
// views.
#include <numeric>

#include "compile/passes/match.h"
#include "compile/passes/passes.h"

namespace tutti::compile {
namespace {

using ir::DType;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

std::vector<int64_t> permutation(const Graph& graph, const Node& node) {
  std::vector<int64_t> perm = ir::attr_ints(node.attrs, "perm");
  const ir::ValueType& type = graph.value(node.outputs[0]).type;
  if (perm.empty() && type.has_rank())
    for (int64_t i = type.rank(); i-- > 0;) perm.push_back(i);
  return perm;
}

bool is_identity(const std::vector<int64_t>& perm) {
  for (size_t i = 0; i < perm.size(); ++i)
    if (perm[i] != static_cast<int64_t>(i)) return false;
  return true;
}

std::optional<ir::Patch> transpose(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const std::vector<int64_t> outer = permutation(graph, node);
  if (!graph.value(node.outputs[0]).type.has_rank()) return std::nullopt;
  if (is_identity(outer)) return forward(graph, "transpose_nothing", node, node.inputs[0]);
  const Node* below = made_by(graph, node.inputs[0], "Transpose");
  if (!below) return std::nullopt;
  const std::vector<int64_t> inner = permutation(graph, *below);
  std::vector<int64_t> both;
  for (const int64_t axis : outer) both.push_back(inner[static_cast<size_t>(axis)]);
  if (is_identity(both)) return forward(graph, "transpose_back", node, below->inputs[0]);
  ir::Patch patch(graph, "transpose_twice");
  patch.replace(node.outputs[0], patch.node(*node.op, {below->inputs[0]}, attrs_with(*node.op, {{"perm", both}})));
  return patch;
}

// Every value of `from` is one of `to`.
bool is_lossless(DType from, DType to) {
  if (from == to || from == DType::kBool) return true;
  const int a = dtype_bits(from), b = dtype_bits(to);
  if (is_integer(from) && is_integer(to)) {
    if (is_signed_integer(from) == is_signed_integer(to)) return a <= b;
    return !is_signed_integer(from) && a < b;
  }
  if (is_integer(from) && to == DType::kFloat64) return a <= 32;
  if (is_integer(from) && to == DType::kFloat32) return a <= 16;
  if (is_compute_float(from) && is_compute_float(to))
    return to == DType::kFloat64 || (to == DType::kFloat32 && a == 16);
  return false;
}

std::optional<ir::Patch> cast(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const DType to = dtype_of(graph, node.outputs[0]);
  if (dtype_of(graph, node.inputs[0]) == to) return forward(graph, "cast_to_same", node, node.inputs[0]);
  const Node* below = made_by(graph, node.inputs[0], "Cast");
  if (!below) return std::nullopt;
  const DType from = dtype_of(graph, below->inputs[0]);
  if (!is_lossless(from, dtype_of(graph, node.inputs[0])) || from == DType::kBool) return std::nullopt;
  if (from == to) return forward(graph, "cast_back", node, below->inputs[0]);
  ir::Patch patch(graph, "cast_twice");
  patch.replace(node.outputs[0], patch.node(*node.op, {below->inputs[0]}, node.attrs));
  return patch;
}

// Reshape, Flatten, Squeeze, Unsqueeze, Expand, Tile: with the data's order kept, an equal shape is an equal tensor.
std::optional<ir::Patch> same_shape(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!same_type(graph, node.inputs[0], node.outputs[0])) return std::nullopt;
  return forward(graph, "same_shape", node, node.inputs[0]);
}

std::optional<ir::Patch> slice_all(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!same_type(graph, node.inputs[0], node.outputs[0])) return std::nullopt;
  if (has_input(node, 4)) {
    const auto steps = ints_of(graph, node.inputs[4]);
    if (!steps) return std::nullopt;
    for (const int64_t step : *steps)
      if (step != 1) return std::nullopt;
  }
  return forward(graph, "slice_all", node, node.inputs[0]);
}

std::optional<ir::Patch> pad_nothing(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const auto pads = ints_of(graph, input_of(node, 1));
  if (!pads || !same_type(graph, node.inputs[0], node.outputs[0])) return std::nullopt;
  for (const int64_t pad : *pads)
    if (pad != 0) return std::nullopt;
  return forward(graph, "pad_nothing", node, node.inputs[0]);
}

std::optional<ir::Patch> concat_one(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.inputs.size() != 1 || node.inputs[0] == ir::kNoValue) return std::nullopt;
  return forward(graph, "concat_one", node, node.inputs[0]);
}

bool is_reshaping(const Node& node) {
  return is_op(node, "Reshape") || is_op(node, "Flatten") || is_op(node, "Squeeze") || is_op(node, "Unsqueeze");
}

// The outer target must not refer to the dims of what lies between.
std::optional<ir::Patch> reshape_twice(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Node* below = graph.producer(node.inputs[0]);
  if (!below || !is_reshaping(*below) || !graph.value(below->inputs[0]).type.is_tensor()) return std::nullopt;
  const auto target = ints_of(graph, input_of(node, 1));
  if (!target) return std::nullopt;
  for (const int64_t dim : *target)
    if (dim == 0) return std::nullopt;
  ir::Patch patch(graph, "reshape_twice");
  patch.replace(node.outputs[0], patch.node(*node.op, {below->inputs[0], node.inputs[1]}, node.attrs));
  return patch;
}

// Squeeze(Unsqueeze(x)), Unsqueeze(Squeeze(x)), Reshape(Flatten(x)): back where it came from.
std::optional<ir::Patch> reshape_back(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Node* below = graph.producer(node.inputs[0]);
  if (!below || !is_reshaping(*below) || !same_type(graph, below->inputs[0], node.outputs[0])) return std::nullopt;
  return forward(graph, "reshape_back", node, below->inputs[0]);
}

}  // namespace

Result<PassStats> run_cancel(ir::Graph& graph, PassContext& context) {
  const ir::Rule rules[] = {
      {"transpose", ops_named({"Transpose"}), transpose},
      {"cast", ops_named({"Cast"}), cast},
      {"same_shape", ops_named({"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Expand", "Tile"}), same_shape},
      {"slice_all", ops_named({"Slice"}), slice_all},
      {"pad_nothing", ops_named({"Pad"}), pad_nothing},
      {"concat_one", ops_named({"Concat"}), concat_one},
      {"reshape_back", ops_named({"Reshape", "Flatten", "Squeeze", "Unsqueeze"}), reshape_back},
      {"reshape_twice", ops_named({"Reshape"}), reshape_twice},
  };
  return apply_rules(graph, rules, context);
}

}  // namespace tutti::compile
