// channels_last: convolutions and what lies between them -> channels-last layout. Needs: conv_activation. Leaves:
// transposes at the borders; pairs for cancel.
//
// Each convolution is turned on its own, with a transpose before and after it. The transposes after it (back to
// channels first) then sink through whatever follows and can work in the other layout, until they meet the transpose
// before the next convolution.
#include <algorithm>

#include "compile/passes/match.h"
#include "compile/passes/passes.h"
#include "ir/op_def.h"
#include "ops/fused.h"
#include "ops/pool.h"

namespace tutti::compile {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Patch;
using ir::ValueId;
using ops::channels_first_permutation;
using ops::channels_last_permutation;

constexpr int64_t kMaxRank = 4;  // one and two spatial axes: what the kernels take

ValueId transpose(Patch& patch, ValueId value, const std::vector<int64_t>& perm) {
  const ir::OpDef& op = op_named("Transpose");
  return patch.node(op, {value}, attrs_with(op, {{"perm", perm}}));
}

bool has_layout_rank(const Graph& graph, ValueId value) {
  const ir::ValueType& type = graph.value(value).type;
  return type.is_tensor() && type.has_rank() && type.rank() >= 3 && type.rank() <= kMaxRank;
}

// The channels-last value behind a transpose to channels first, or kNoValue.
ValueId channels_last_source(const Graph& graph, ValueId value) {
  if (value == ir::kNoValue || !has_layout_rank(graph, value)) return ir::kNoValue;
  const Node* node = made_by(graph, value, "Transpose");
  if (!node || ir::attr_ints(node->attrs, "perm") != channels_first_permutation(graph.value(value).type.rank()))
    return ir::kNoValue;
  return node->inputs[0];
}

void finish(Patch& patch, const Node& root, ValueId channels_last, int64_t rank) {
  patch.replace(root.outputs[0], transpose(patch, channels_last, channels_first_permutation(rank)));
}

std::optional<ops::FusedConvAttrs> conv_attrs(const Node& node) {
  if (node.op == &ops::kFusedConv) {
    ops::FusedConvAttrs attrs = node.attrs.as<ops::FusedConvAttrs>();
    if (attrs.layout == ops::ConvLayout::kNhwc) return std::nullopt;
    return attrs;
  }
  if (ir::attr_string(node.attrs, "auto_pad", "NOTSET") != "NOTSET") return std::nullopt;
  ops::FusedConvAttrs attrs;
  attrs.dilations = ir::attr_ints(node.attrs, "dilations");
  attrs.group = ir::attr_int(node.attrs, "group", 1);
  attrs.pads = ir::attr_ints(node.attrs, "pads");
  attrs.strides = ir::attr_ints(node.attrs, "strides");
  return attrs;
}

std::optional<Patch> turn_convolution(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  auto attrs = conv_attrs(node);
  if (!attrs || !has_layout_rank(graph, node.inputs[0]) || dtype_of(graph, node.inputs[0]) != ir::DType::kFloat32)
    return std::nullopt;
  const int64_t rank = graph.value(node.inputs[0]).type.rank();
  const ValueId residual = input_of(node, 3);
  if (residual != ir::kNoValue && (!has_layout_rank(graph, residual) || graph.value(residual).type.rank() != rank))
    return std::nullopt;
  attrs->layout = ops::ConvLayout::kNhwc;
  Patch patch(graph, "convolution");
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = transpose(patch, inputs[0], channels_last_permutation(rank));
  if (residual != ir::kNoValue) inputs[3] = transpose(patch, residual, channels_last_permutation(rank));
  finish(patch, node, patch.node(ops::kFusedConv, std::move(inputs), std::move(*attrs)), rank);
  return patch;
}

std::optional<Patch> sink_through_pool(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const ValueId x = channels_last_source(graph, node.inputs[0]);
  const bool one_output = node.outputs.size() < 2 || node.outputs[1] == ir::kNoValue;
  if (x == ir::kNoValue || !one_output || ir::attr_string(node.attrs, "auto_pad", "NOTSET") != "NOTSET")
    return std::nullopt;
  Patch patch(graph, "pool");
  const ir::OpDef& op = is_op(node, "MaxPool") ? ops::kMaxPoolNhwc : ops::kAveragePoolNhwc;
  finish(patch, node, patch.node(op, {x}, node.attrs), graph.value(node.inputs[0]).type.rank());
  return patch;
}

// A mean over exactly the spatial axes, with the axes kept.
std::optional<Patch> sink_through_mean(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const ValueId x = channels_last_source(graph, node.inputs[0]);
  if (x == ir::kNoValue) return std::nullopt;
  const int64_t rank = graph.value(x).type.rank();
  if (is_op(node, "ReduceMean")) {
    auto axes = ints_of(graph, input_of(node, 1));
    if (!axes || !ir::attr_bool(node.attrs, "keepdims", true)) return std::nullopt;
    for (int64_t& axis : *axes) axis += axis < 0 ? rank : 0;
    std::sort(axes->begin(), axes->end());
    for (int64_t i = 0; i < rank - 2; ++i)
      if (static_cast<int64_t>(axes->size()) != rank - 2 || (*axes)[static_cast<size_t>(i)] != i + 2)
        return std::nullopt;
  }
  std::vector<int64_t> spatial;
  for (int64_t i = 1; i < rank - 1; ++i) spatial.push_back(i);
  Patch patch(graph, "mean");
  const ir::OpDef& op = op_named("ReduceMean");
  const ValueId axes = patch.constant(ir::Tensor::from<int64_t>({rank - 2}, spatial));
  finish(patch, node, patch.node(op, {x, axes}, attrs_with(op, {{"keepdims", true}})), rank);
  return patch;
}

// An operand of a pointwise operator in channels-last form: behind a transpose, a number, or a constant that
// broadcasts.
ValueId turned_operand(const Graph& graph, Patch& patch, ValueId operand, int64_t rank) {
  if (const ValueId source = channels_last_source(graph, operand); source != ir::kNoValue)
    return graph.value(operand).type.rank() == rank ? source : ir::kNoValue;
  const ir::Tensor* constant = constant_of(graph, operand);
  if (!constant || constant->rank() > rank || ir::dtype_bits(constant->dtype()) < 8) return ir::kNoValue;
  if (constant->size() == 1) return operand;
  ir::Dims dims(static_cast<size_t>(rank - constant->rank()), 1);
  dims.insert(dims.end(), constant->dims().begin(), constant->dims().end());
  const bool per_channel = dims[1] == constant->size();
  if (!per_channel) return ir::kNoValue;
  ir::Dims last(static_cast<size_t>(rank), 1);
  last.back() = constant->size();
  return patch.constant(constant->reshaped(std::move(last)));
}

std::optional<Patch> sink_through_pointwise(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!node.op->has(ir::kPointwise) || node.outputs.size() != 1 || !has_layout_rank(graph, node.outputs[0]))
    return std::nullopt;
  const bool any = std::any_of(node.inputs.begin(), node.inputs.end(),
                               [&](ValueId in) { return channels_last_source(graph, in) != ir::kNoValue; });
  if (!any) return std::nullopt;
  const int64_t rank = graph.value(node.outputs[0]).type.rank();
  Patch patch(graph, "pointwise");
  std::vector<ValueId> inputs;
  for (const ValueId in : node.inputs) {
    inputs.push_back(in == ir::kNoValue ? in : turned_operand(graph, patch, in, rank));
    if (in != ir::kNoValue && inputs.back() == ir::kNoValue) return std::nullopt;
  }
  finish(patch, node, patch.node(*node.op, std::move(inputs), node.attrs), rank);
  return patch;
}

std::optional<Patch> sink_through_concat(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!has_layout_rank(graph, node.outputs[0])) return std::nullopt;
  const int64_t rank = graph.value(node.outputs[0]).type.rank();
  int64_t axis = ir::attr_int(node.attrs, "axis");
  axis += axis < 0 ? rank : 0;
  std::vector<ValueId> inputs;
  for (const ValueId in : node.inputs) {
    inputs.push_back(channels_last_source(graph, in));
    if (inputs.back() == ir::kNoValue) return std::nullopt;
  }
  const int64_t turned = axis == 0 ? 0 : axis == 1 ? rank - 1 : axis - 1;
  Patch patch(graph, "concat");
  finish(patch, node, patch.node(*node.op, std::move(inputs), attrs_with(*node.op, {{"axis", turned}})), rank);
  return patch;
}

}  // namespace

Result<PassStats> run_channels_last(Graph& graph, PassContext& context) {
  const ir::Rule rules[] = {
      {"convolution", {&op_named("Conv"), &ops::kFusedConv}, turn_convolution},
      {"pool", ops_named({"MaxPool", "AveragePool"}), sink_through_pool},
      {"mean", ops_named({"GlobalAveragePool", "ReduceMean"}), sink_through_mean},
      {"concat", ops_named({"Concat"}), sink_through_concat},
      {"pointwise", {}, sink_through_pointwise},
  };
  return apply_rules(graph, rules, context);
}

}  // namespace tutti::compile
