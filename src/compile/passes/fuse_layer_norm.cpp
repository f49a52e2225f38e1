// fuse_layer_norm: mean, difference, variance, division, scale and shift written out -> LayerNormalization, and without
// the mean -> RMSNormalization. Needs: canonicalize. Leaves: one node per norm.
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

// mean(d^2) + epsilon: gives epsilon.
std::optional<double> variance_epsilon(const Graph& graph, ValueId value, ValueId d) {
  const Node* add = made_by(graph, value, "Add");
  if (!add) return std::nullopt;
  const auto epsilon = scalar_of(graph, add->inputs[1]);
  const ValueId square = mean_of(graph, add->inputs[0]);
  if (!epsilon || square == ir::kNoValue || !is_square_of(graph, square, d)) return std::nullopt;
  return epsilon;
}

// The v of sqrt(v).
ValueId under_root(const Graph& graph, ValueId value) {
  const Node* sqrt = made_by(graph, value, "Sqrt");
  return sqrt ? sqrt->inputs[0] : ir::kNoValue;
}

// The v of 1 / sqrt(v), in its three forms.
ValueId under_inverse_root(const Graph& graph, ValueId value) {
  if (const Node* reciprocal = made_by(graph, value, "Reciprocal")) return under_root(graph, reciprocal->inputs[0]);
  const Node* div = made_by(graph, value, "Div");
  if (div && is_scalar_near(graph, div->inputs[0], 1)) return under_root(graph, div->inputs[1]);
  const Node* pow = made_by(graph, value, "Pow");
  return pow && is_scalar_near(graph, pow->inputs[1], -0.5) ? pow->inputs[0] : ir::kNoValue;
}

struct Normalised {
  ValueId x;
  double epsilon;
  bool centred;  // the mean was subtracted
};

// d / sqrt(mean(d^2) + epsilon), where d is x, or x - mean(x).
std::optional<Normalised> normalised(const Graph& graph, const Node& root) {
  for (size_t i = 0; i < 2; ++i) {
    const ValueId d = root.inputs[i], other = root.inputs[1 - i];
    if (is_op(root, "Div") && i == 1) break;
    const ValueId variance = is_op(root, "Div") ? under_root(graph, other) : under_inverse_root(graph, other);
    const auto epsilon = variance == ir::kNoValue ? std::nullopt : variance_epsilon(graph, variance, d);
    if (!epsilon) continue;
    const Node* sub = made_by(graph, d, "Sub");
    if (sub && mean_of(graph, sub->inputs[1]) == sub->inputs[0]) return Normalised{sub->inputs[0], *epsilon, true};
    return Normalised{d, *epsilon, false};
  }
  return std::nullopt;
}

std::optional<ir::Patch> norm(const Graph& graph, NodeId id) {
  const Node& root = graph.node(id);
  const auto found = normalised(graph, root);
  if (!found || !same_type(graph, found->x, root.outputs[0])) return std::nullopt;
  const ir::ValueType& type = graph.value(found->x).type;
  const auto count = type.rank() > 0 ? type.shape->back().constant() : std::nullopt;
  if (!count) return std::nullopt;
  ir::Tensor ones = ir::Tensor::allocate(type.dtype, {*count});
  for (int64_t i = 0; i < *count; ++i) ones.set_double(i, 1);
  const ir::OpDef& op = op_named(found->centred ? "LayerNormalization" : "RMSNormalization");
  ir::Patch patch(graph, found->centred ? "layer_norm" : "rms_norm");
  const ValueId gamma = patch.constant(std::move(ones));
  const auto epsilon = static_cast<float>(found->epsilon);
  patch.replace(root.outputs[0],
                patch.node(op, {found->x, gamma}, attrs_with(op, {{"axis", int64_t{-1}}, {"epsilon", epsilon}})));
  return patch;
}

// A constant with one element per place of the last axis of `value`.
const ir::Tensor* last_axis_vector(const Graph& graph, ValueId constant, ValueId value) {
  const ir::Tensor* tensor = constant_of(graph, constant);
  const ir::ValueType& type = graph.value(value).type;
  if (!tensor || tensor->rank() < 1 || !type.has_rank() || type.rank() < 1 || tensor->dtype() != type.dtype)
    return nullptr;
  return tensor->dim(tensor->rank() - 1) == tensor->size() && type.shape->back().is(tensor->size()) ? tensor : nullptr;
}

bool is_all_ones(const ir::Tensor& tensor) {
  for (int64_t i = 0; i < tensor.size(); ++i)
    if (tensor.get_double(i) != 1) return false;
  return true;
}

// A norm with one output, over the last axis, whose result nobody else reads.
const Node* open_norm(const Graph& graph, ValueId value) {
  const Node* norm = graph.producer(value);
  if (!norm || !(is_op(*norm, "LayerNormalization") || is_op(*norm, "RMSNormalization"))) return nullptr;
  const bool open = norm->outputs.size() == 1 && !has_input(*norm, 2) && ir::attr_int(norm->attrs, "axis", -1) == -1;
  return open && graph.has_single_use(value) ? norm : nullptr;
}

std::optional<ir::Patch> scaled(const Graph& graph, NodeId id) {
  const Node& root = graph.node(id);
  for (size_t i = 0; i < 2; ++i) {
    const Node* norm = open_norm(graph, root.inputs[i]);
    const ir::Tensor* gamma = norm ? constant_of(graph, norm->inputs[1]) : nullptr;
    if (!gamma || !is_all_ones(*gamma) || !same_type(graph, root.inputs[i], root.outputs[0])) continue;
    const ir::Tensor* scale = last_axis_vector(graph, root.inputs[1 - i], root.inputs[i]);
    if (!scale) continue;
    ir::Patch patch(graph, "norm_scale");
    patch.absorbs(graph.value(root.inputs[i]).producer);
    const ValueId vector = patch.constant(scale->reshaped({scale->size()}));
    patch.replace(root.outputs[0], patch.node(*norm->op, {norm->inputs[0], vector}, norm->attrs));
    return patch;
  }
  return std::nullopt;
}

std::optional<ir::Patch> shifted(const Graph& graph, NodeId id) {
  const Node& root = graph.node(id);
  for (size_t i = 0; i < 2; ++i) {
    const Node* norm = open_norm(graph, root.inputs[i]);
    if (!norm || !is_op(*norm, "LayerNormalization") || !same_type(graph, root.inputs[i], root.outputs[0])) continue;
    const ir::Tensor* shift = last_axis_vector(graph, root.inputs[1 - i], root.inputs[i]);
    if (!shift) continue;
    ir::Patch patch(graph, "norm_shift");
    patch.absorbs(graph.value(root.inputs[i]).producer);
    const ValueId beta = patch.constant(shift->reshaped({shift->size()}));
    patch.replace(root.outputs[0], patch.node(*norm->op, {norm->inputs[0], norm->inputs[1], beta}, norm->attrs));
    return patch;
  }
  return std::nullopt;
}

}  // namespace

Result<PassStats> run_fuse_layer_norm(ir::Graph& graph, PassContext& context) {
  const ir::Rule rules[] = {{"norm", ops_named({"Div", "Mul"}), norm},
                            {"norm_scale", ops_named({"Mul"}), scaled},
                            {"norm_shift", ops_named({"Add"}), shifted}};
  return apply_rules(graph, rules, context);
}

}  // namespace tutti::compile
