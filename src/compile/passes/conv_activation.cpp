// conv_activation: Conv + residual Add + activation -> tutti.FusedConv. Needs: fold_batch_norm, fuse_activation,
// explicit pads. Leaves: fused convolutions.
#include "compile/passes/activation.h"
#include "compile/passes/passes.h"
#include "ir/op_def.h"

namespace tutti::compile {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;
using ops::FusedConvAttrs;

// A Conv or FusedConv as the inputs and attributes of a FusedConv.
struct Convolution {
  FusedConvAttrs attrs;
  std::vector<ValueId> inputs;
  bool has_residual() const { return inputs[3] != ir::kNoValue; }
};

std::optional<Convolution> convolution(const Graph& graph, ValueId value) {
  const Node* node = graph.producer(value);
  if (!node || !graph.has_single_use(value)) return std::nullopt;
  Convolution out;
  if (node->op == &ops::kFusedConv) {
    out.attrs = node->attrs.as<FusedConvAttrs>();
  } else if (is_op(*node, "Conv") && ir::attr_string(node->attrs, "auto_pad", "NOTSET") == "NOTSET" &&
             graph.value(value).type.has_rank()) {
    out.attrs.dilations = ir::attr_ints(node->attrs, "dilations");
    out.attrs.group = ir::attr_int(node->attrs, "group", 1);
    out.attrs.pads = ir::attr_ints(node->attrs, "pads");
    out.attrs.strides = ir::attr_ints(node->attrs, "strides");
  } else {
    return std::nullopt;
  }
  out.inputs = node->inputs;
  out.inputs.resize(4, ir::kNoValue);
  return out;
}

ir::Patch fused(const Graph& graph, std::string_view name, const Node& root, ValueId from, Convolution convolution) {
  while (convolution.inputs.back() == ir::kNoValue) convolution.inputs.pop_back();
  ir::Patch patch(graph, std::string(name));
  patch.absorbs(graph.value(from).producer);
  patch.replace(root.outputs[0],
                patch.node(ops::kFusedConv, std::move(convolution.inputs), std::move(convolution.attrs)));
  return patch;
}

std::optional<ir::Patch> activation(const Graph& graph, NodeId id) {
  const Node& root = graph.node(id);
  const auto choice = activation_of(graph, root);
  if (!choice) return std::nullopt;
  auto conv = convolution(graph, root.inputs[0]);
  if (!conv) return std::nullopt;
  const auto attrs = with_activation(conv->attrs, conv->has_residual(), *choice);
  if (!attrs) return std::nullopt;
  conv->attrs = *attrs;
  return fused(graph, "activation", root, root.inputs[0], std::move(*conv));
}

// The residual is a tensor of the output's full shape; constants per channel are fold_batch_norm's.
std::optional<ir::Patch> residual(const Graph& graph, NodeId id) {
  const Node& root = graph.node(id);
  for (size_t i = 0; i < 2; ++i) {
    const ValueId from = root.inputs[i], other = root.inputs[1 - i];
    auto conv = convolution(graph, from);
    if (!conv || conv->has_residual() || !same_type(graph, from, other) || !same_type(graph, from, root.outputs[0]))
      continue;
    conv->inputs[3] = other;
    return fused(graph, "residual", root, from, std::move(*conv));
  }
  return std::nullopt;
}

}  // namespace

Result<PassStats> run_conv_activation(ir::Graph& graph, PassContext& context) {
  const ir::Rule rules[] = {{"activation", activation_ops(), activation}, {"residual", ops_named({"Add"}), residual}};
  return apply_rules(graph, rules, context);
}

}  // namespace tutti::compile
