// fold_batch_norm: Conv + BatchNormalization, + per-channel Mul, + per-channel Add -> Conv. Needs: constant weights,
// canonicalize. Leaves: Conv with other weights.
#include <cmath>

#include "compile/passes/match.h"
#include "compile/passes/passes.h"
#include "ir/op_def.h"

namespace tutti::compile {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Tensor;
using ir::ValueId;

// A Conv whose weights may be changed: constants, and nobody else reads its result.
const Node* foldable_conv(const Graph& graph, ValueId value) {
  const Node* conv = made_by(graph, value, "Conv");
  if (!conv || !graph.has_single_use(value)) return nullptr;
  const Tensor* weight = constant_of(graph, conv->inputs[1]);
  if (!weight || !is_compute_float(weight->dtype()) || weight->rank() < 3) return nullptr;
  return has_input(*conv, 2) && !constant_of(graph, conv->inputs[2]) ? nullptr : conv;
}

std::vector<double> elements(const Tensor& tensor) {
  std::vector<double> out(static_cast<size_t>(tensor.size()));
  for (size_t i = 0; i < out.size(); ++i) out[i] = tensor.get_double(static_cast<int64_t>(i));
  return out;
}

// A constant that holds one number per channel of a [N, C, spatial...] value of rank `rank`, right-aligned as
// broadcasting does, or one for all.
std::optional<std::vector<double>> per_channel(const Graph& graph, ValueId value, int64_t rank, int64_t channels) {
  const Tensor* tensor = constant_of(graph, value);
  if (!tensor || tensor->rank() > rank) return std::nullopt;
  if (tensor->size() == 1) return std::vector<double>(static_cast<size_t>(channels), tensor->get_double(0));
  const int64_t axis = tensor->rank() - (rank - 1);
  if (axis < 0 || tensor->size() != channels || tensor->dim(axis) != channels) return std::nullopt;
  return elements(*tensor);
}

// conv' = scale * conv + shift, per output channel.
struct Affine {
  std::vector<double> scale, shift;
};

bool all_finite(const std::vector<double>& values) {
  for (const double value : values)
    if (!std::isfinite(value)) return false;
  return true;
}

std::optional<ir::Patch> with_affine(const Graph& graph, std::string_view name, const Node& root, const Node& conv,
                                     const Affine& affine) {
  if (!all_finite(affine.scale) || !all_finite(affine.shift)) return std::nullopt;
  const Tensor& weight = *constant_of(graph, conv.inputs[1]);
  const int64_t channels = weight.dim(0), inner = channels ? weight.size() / channels : 0;
  Tensor folded = Tensor::allocate(weight.dtype(), weight.dims());
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t i = c * inner; i < (c + 1) * inner; ++i)
      folded.set_double(i, weight.get_double(i) * affine.scale[static_cast<size_t>(c)]);
  Tensor bias = Tensor::zeros(weight.dtype(), {channels});
  const Tensor* old_bias = constant_of(graph, input_of(conv, 2));
  for (int64_t c = 0; c < channels; ++c) {
    const auto i = static_cast<size_t>(c);
    bias.set_double(c, (old_bias ? old_bias->get_double(c) : 0) * affine.scale[i] + affine.shift[i]);
  }
  ir::Patch patch(graph, std::string(name));
  patch.absorbs(graph.value(root.inputs[0]).producer);
  patch.replace(
      root.outputs[0],
      patch.node(*conv.op, {conv.inputs[0], patch.constant(std::move(folded)), patch.constant(std::move(bias))},
                 conv.attrs));
  return patch;
}

std::optional<ir::Patch> batch_norm(const Graph& graph, NodeId id) {
  const Node& root = graph.node(id);
  const Node* conv = foldable_conv(graph, root.inputs[0]);
  if (!conv || ir::attr_int(root.attrs, "training_mode") != 0) return std::nullopt;
  std::vector<std::vector<double>> parameters;
  for (size_t i = 1; i < 5; ++i) {
    const Tensor* tensor = constant_of(graph, input_of(root, i));
    if (!tensor || tensor->size() != constant_of(graph, conv->inputs[1])->dim(0)) return std::nullopt;
    parameters.push_back(elements(*tensor));
  }
  const double epsilon = ir::attr_float(root.attrs, "epsilon", 1e-5f);
  Affine affine;
  for (size_t c = 0; c < parameters[0].size(); ++c) {
    affine.scale.push_back(parameters[0][c] / std::sqrt(parameters[3][c] + epsilon));
    affine.shift.push_back(parameters[1][c] - parameters[2][c] * affine.scale[c]);
  }
  return with_affine(graph, "batch_norm", root, *conv, affine);
}

std::optional<ir::Patch> scale_or_shift(const Graph& graph, NodeId id) {
  const Node& root = graph.node(id);
  const Node* conv = foldable_conv(graph, root.inputs[0]);
  if (!conv || !same_type(graph, root.inputs[0], root.outputs[0])) return std::nullopt;
  const Tensor& weight = *constant_of(graph, conv->inputs[1]);
  auto values = per_channel(graph, root.inputs[1], weight.rank(), weight.dim(0));
  if (!values) return std::nullopt;
  const bool scales = is_op(root, "Mul");
  const std::vector<double> neutral(values->size(), scales ? 0.0 : 1.0);
  return with_affine(graph, scales ? "channel_scale" : "channel_shift", root, *conv,
                     scales ? Affine{*values, neutral} : Affine{neutral, *values});
}

}  // namespace

Result<PassStats> run_fold_batch_norm(ir::Graph& graph, PassContext& context) {
  const ir::Rule rules[] = {
      {"batch_norm", ops_named({"BatchNormalization"}), batch_norm},
      {"channel_affine", ops_named({"Mul", "Add"}), scale_or_shift},
  };
  return apply_rules(graph, rules, context);
}

}  // namespace tutti::compile
