// fuse_layer_norm: mean, difference, variance, division, scale and shift written out -> LayerNormalization. Needs:
// canonicalize. Leaves: one node per norm.
#include "compile/passes/match.h"
#include "compile/passes/passes.h"
#include "ir/op_def.h"

namespace tutti::compile {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

// The operand of a mean over the last axis that keeps it.
ValueId mean_of(const Graph& graph, ValueId value) {
  const Node* mean = made_by(graph, value, "ReduceMean");
  if (!mean || ir::attr_int(mean->attrs, "keepdims", 1) == 0) return ir::kNoValue;
  const auto axes = ints_of(graph, input_of(*mean, 1));
  const ir::ValueType& type = graph.value(mean->inputs[0]).type;
  if (!axes || axes->size() != 1 || !type.has_rank()) return ir::kNoValue;
  return (*axes)[0] == -1 || (*axes)[0] == type.rank() - 1 ? mean->inputs[0] : ir::kNoValue;
}

// value is d * d.
bool is_square_of(const Graph& graph, ValueId value, ValueId d) {
  if (const Node* mul = made_by(graph, value, "Mul")) return mul->inputs[0] == d && mul->inputs[1] == d;
  if (const Node* pow = made_by(graph, value, "Pow"))
    return pow->inputs[0] == d && is_scalar_near(graph, pow->inputs[1], 2);
  return false;
}

// sqrt(mean(d^2) + epsilon): gives epsilon.
std::optional<double> deviation_epsilon(const Graph& graph, ValueId value, ValueId d) {
  const Node* sqrt = made_by(graph, value, "Sqrt");
  const Node* add = sqrt ? made_by(graph, sqrt->inputs[0], "Add") : nullptr;
  if (!add) return std::nullopt;
  const auto epsilon = scalar_of(graph, add->inputs[1]);
  const ValueId square = mean_of(graph, add->inputs[0]);
  if (!epsilon || square == ir::kNoValue || !is_square_of(graph, square, d)) return std::nullopt;
  return epsilon;
}

struct Normalised {
  ValueId x;
  double epsilon;
};

// (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon).
std::optional<Normalised> normalised(const Graph& graph, ValueId value) {
  const Node* div = made_by(graph, value, "Div");
  const Node* sub = div ? made_by(graph, div->inputs[0], "Sub") : nullptr;
  if (!sub || mean_of(graph, sub->inputs[1]) != sub->inputs[0]) return std::nullopt;
  const auto epsilon = deviation_epsilon(graph, div->inputs[1], div->inputs[0]);
  if (!epsilon) return std::nullopt;
  return Normalised{sub->inputs[0], *epsilon};
}

// A constant with one element per place of the last axis of `value`.
const ir::Tensor* last_axis_vector(const Graph& graph, ValueId constant, ValueId value) {
  const ir::Tensor* tensor = constant_of(graph, constant);
  const ir::ValueType& type = graph.value(value).type;
  if (!tensor || tensor->rank() < 1 || !type.has_rank() || type.rank() < 1 || tensor->dtype() != type.dtype)
    return nullptr;
  return tensor->dim(tensor->rank() - 1) == tensor->size() && type.shape->back().is(tensor->size()) ? tensor : nullptr;
}

std::optional<ir::Patch> scaled(const Graph& graph, NodeId id) {
  const Node& root = graph.node(id);
  const auto norm = normalised(graph, root.inputs[0]);
  if (!norm || !graph.has_single_use(root.inputs[0]) || !same_type(graph, norm->x, root.outputs[0]))
    return std::nullopt;
  const ir::Tensor* scale = last_axis_vector(graph, root.inputs[1], norm->x);
  if (!scale) return std::nullopt;
  const ir::OpDef& op = op_named("LayerNormalization");
  ir::Patch patch(graph, "layer_norm");
  const ValueId gamma = patch.constant(scale->reshaped({scale->size()}));
  patch.replace(root.outputs[0],
                patch.node(op, {norm->x, gamma},
                           attrs_with(op, {{"axis", int64_t{-1}}, {"epsilon", static_cast<float>(norm->epsilon)}})));
  return patch;
}

std::optional<ir::Patch> shifted(const Graph& graph, NodeId id) {
  const Node& root = graph.node(id);
  const Node* norm = made_by(graph, root.inputs[0], "LayerNormalization");
  if (!norm || has_input(*norm, 2) || norm->outputs.size() > 1 || ir::attr_int(norm->attrs, "axis", -1) != -1)
    return std::nullopt;
  if (!graph.has_single_use(root.inputs[0]) || !same_type(graph, root.inputs[0], root.outputs[0])) return std::nullopt;
  const ir::Tensor* shift = last_axis_vector(graph, root.inputs[1], root.inputs[0]);
  if (!shift) return std::nullopt;
  ir::Patch patch(graph, "layer_norm_shift");
  const ValueId beta = patch.constant(shift->reshaped({shift->size()}));
  patch.replace(root.outputs[0], patch.node(*norm->op, {norm->inputs[0], norm->inputs[1], beta}, norm->attrs));
  return patch;
}

}  // namespace

Result<PassStats> run_fuse_layer_norm(ir::Graph& graph, PassContext& context) {
  const ir::Rule rules[] = {{"layer_norm", ops_named({"Mul"}), scaled},
                            {"layer_norm_shift", ops_named({"Add"}), shifted}};
  return apply_rules(graph, rules, context);
}

}  // namespace tutti::compile
