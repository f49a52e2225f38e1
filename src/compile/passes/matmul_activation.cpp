// matmul_activation: MatMul or Gemm with a constant 2-D weight + bias + activation + residual -> tutti.Linear. Needs:
// fuse_activation. Leaves: Linear nodes.
#include "compile/passes/activation.h"
#include "compile/passes/passes.h"
#include "ir/op_def.h"

namespace tutti::compile {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;
using ops::LinearAttrs;

bool has_matrix_weight(const Graph& graph, const Node& node) {
  const ir::Tensor* weight = constant_of(graph, node.inputs[1]);
  const ir::ValueType& x = graph.value(node.inputs[0]).type;
  return weight && weight->rank() == 2 && is_compute_float(weight->dtype()) && x.has_rank() && x.rank() >= 2;
}

std::optional<ir::Patch> from_matmul(const Graph& graph, NodeId id) {
  const Node& root = graph.node(id);
  if (!has_matrix_weight(graph, root)) return std::nullopt;
  ir::Patch patch(graph, "matmul");
  patch.replace(root.outputs[0], patch.node(ops::kLinear, root.inputs, LinearAttrs{}));
  return patch;
}

std::optional<ir::Patch> from_gemm(const Graph& graph, NodeId id) {
  const Node& root = graph.node(id);
  if (!has_matrix_weight(graph, root) || ir::attr_int(root.attrs, "transA") != 0) return std::nullopt;
  if (has_input(root, 2) && ir::attr_float(root.attrs, "beta", 1) != 1) return std::nullopt;
  LinearAttrs attrs;
  attrs.transpose_weight = ir::attr_int(root.attrs, "transB") != 0;
  attrs.scale = ir::attr_float(root.attrs, "alpha", 1);
  ir::Patch patch(graph, "gemm");
  patch.replace(root.outputs[0], patch.node(ops::kLinear, root.inputs, std::move(attrs)));
  return patch;
}

// A Linear that only its one user reads.
const Node* open_linear(const Graph& graph, ValueId value) {
  const Node* node = graph.producer(value);
  return node && node->op == &ops::kLinear && graph.has_single_use(value) ? node : nullptr;
}

ir::Patch replaced(const Graph& graph, std::string_view name, const Node& root, ValueId from,
                   std::vector<ValueId> inputs, LinearAttrs attrs) {
  ir::Patch patch(graph, std::string(name));
  patch.absorbs(graph.value(from).producer);
  patch.replace(root.outputs[0], patch.node(ops::kLinear, std::move(inputs), std::move(attrs)));
  return patch;
}

// One number per output column, added to a Linear that has nothing after its product yet.
std::optional<ir::Patch> bias(const Graph& graph, NodeId id) {
  const Node& root = graph.node(id);
  for (size_t i = 0; i < 2; ++i) {
    const ValueId from = root.inputs[i];
    const ir::Tensor* constant = constant_of(graph, root.inputs[1 - i]);
    const Node* linear = open_linear(graph, from);
    if (!linear || !constant || linear->inputs.size() > 2 ||
        linear->attrs.as<LinearAttrs>().activation != ops::Activation::kNone)
      continue;
    const ir::ValueType& type = graph.value(from).type;
    if (constant->rank() < 1 || constant->dim(constant->rank() - 1) != constant->size() ||
        !type.shape->back().is(constant->size()))
      continue;
    if (!same_type(graph, from, root.outputs[0])) continue;
    ir::Patch patch(graph, "bias");
    patch.absorbs(graph.value(from).producer);
    const ValueId vector =
        constant->rank() == 1 ? root.inputs[1 - i] : patch.constant(constant->reshaped({constant->size()}));
    patch.replace(root.outputs[0],
                  patch.node(ops::kLinear, {linear->inputs[0], linear->inputs[1], vector}, linear->attrs));
    return patch;
  }
  return std::nullopt;
}

std::optional<ir::Patch> activation(const Graph& graph, NodeId id) {
  const Node& root = graph.node(id);
  const auto choice = activation_of(graph, root);
  const Node* linear = choice ? open_linear(graph, root.inputs[0]) : nullptr;
  if (!linear) return std::nullopt;
  auto attrs = with_activation(linear->attrs.as<LinearAttrs>(), has_input(*linear, 3), *choice);
  if (!attrs) return std::nullopt;
  return replaced(graph, "activation", root, root.inputs[0], linear->inputs, std::move(*attrs));
}

std::optional<ir::Patch> residual(const Graph& graph, NodeId id) {
  const Node& root = graph.node(id);
  for (size_t i = 0; i < 2; ++i) {
    const ValueId from = root.inputs[i], other = root.inputs[1 - i];
    const Node* linear = open_linear(graph, from);
    if (!linear || has_input(*linear, 3) || graph.value(other).is_constant()) continue;
    if (!same_type(graph, from, other) || !same_type(graph, from, root.outputs[0])) continue;
    std::vector<ValueId> inputs = linear->inputs;
    inputs.resize(3, ir::kNoValue);
    inputs.push_back(other);
    return replaced(graph, "residual", root, from, std::move(inputs), linear->attrs.as<LinearAttrs>());
  }
  return std::nullopt;
}

}  // namespace

Result<PassStats> run_matmul_activation(ir::Graph& graph, PassContext& context) {
  const ir::Rule rules[] = {
      {"matmul", ops_named({"MatMul"}), from_matmul},
      {"gemm", ops_named({"Gemm"}), from_gemm},
      {"bias", ops_named({"Add"}), bias},
      {"activation", activation_ops(), activation},
      {"residual", ops_named({"Add"}), residual},
  };
  return apply_rules(graph, rules, context);
}

}  // namespace tutti::compile
