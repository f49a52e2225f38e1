#include "compile/passes/activation.h"

#include <algorithm>
#include <limits>

namespace tutti::compile {

using ir::Graph;
using ir::Node;
using ops::Activation;

std::vector<const ir::OpDef*> activation_ops() {
  return ops_named(
      {"Relu", "Clip", "HardSwish", "HardSigmoid", "Sigmoid", "Swish", "LeakyRelu", "Gelu", "Tanh", "Elu"});
}

namespace {

std::optional<ActivationChoice> clip(const Graph& graph, const Node& node) {
  ActivationChoice out{Activation::kClip, std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max()};
  float* bounds[] = {&out.alpha, &out.beta};
  for (size_t i = 0; i < 2; ++i) {
    if (!has_input(node, i + 1)) continue;
    const auto bound = scalar_of(graph, node.inputs[i + 1]);
    if (!bound) return std::nullopt;
    *bounds[i] = static_cast<float>(*bound);
  }
  out.alpha = std::min(out.alpha, out.beta);  // crossed bounds: the upper one wins
  // An absent bound of a 16-bit type would not be the largest float.
  if (dtype_of(graph, node.inputs[0]) != ir::DType::kFloat32 && !(has_input(node, 1) && has_input(node, 2)))
    return std::nullopt;
  return out;
}

}  // namespace

std::optional<ActivationChoice> activation_of(const Graph& graph, const Node& node) {
  if (node.inputs.empty() || !is_compute_float(dtype_of(graph, node.inputs[0]))) return std::nullopt;
  const std::string_view op = node.op->name;
  const auto parameter = [&](std::string_view name) { return ir::attr_float(node.attrs, name); };
  if (op == "Relu") return ActivationChoice{Activation::kRelu};
  if (op == "HardSwish") return ActivationChoice{Activation::kHardSwish};
  if (op == "Sigmoid") return ActivationChoice{Activation::kSigmoid};
  if (op == "Tanh") return ActivationChoice{Activation::kTanh};
  if (op == "HardSigmoid") return ActivationChoice{Activation::kHardSigmoid, parameter("alpha"), parameter("beta")};
  if (op == "LeakyRelu") return ActivationChoice{Activation::kLeakyRelu, parameter("alpha")};
  if (op == "Elu") return ActivationChoice{Activation::kElu, parameter("alpha")};
  if (op == "Swish")
    return parameter("alpha") == 1 ? ActivationChoice{Activation::kSilu}
                                   : ActivationChoice{Activation::kQuickGelu, parameter("alpha")};
  if (op == "Gelu")
    return ActivationChoice{ir::attr_string(node.attrs, "approximate", "none") == "tanh" ? Activation::kGeluTanh
                                                                                         : Activation::kGeluErf};
  if (op == "Clip") return clip(graph, node);
  return std::nullopt;
}

}  // namespace tutti::compile
