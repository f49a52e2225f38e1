// Convolution, pooling, normalization, softmax, recurrence, attention, losses.
#include "onnx/map.h"

namespace tutti::onnx {
namespace {

using ir::ValueId;

// Softmax, LogSoftmax and Hardmax before opset 13 worked on the input flattened to two dimensions at `axis`. Over the
// last axis that is the same as now; otherwise it is flattened, and shaped back.
Status flattening_softmax(NodeBuilder& node) {
  const int64_t axis = node.attrs.take<int64_t>("axis").value_or(1);
  const int64_t rank = TUTTI_TRY(node.known_rank(0));
  if (axis < -rank || axis > rank)
    return make_error(Code::kInvalidModel, "attribute 'axis': found {}, expected {} to {}", axis, -rank, rank);
  if (rank > 0 && (axis == rank - 1 || axis == -1)) {
    node.attrs.set("axis", int64_t{-1});
    return direct(node);
  }
  const ValueId flat = TUTTI_TRY(node.add("Flatten", {node.input(0)}, {{"axis", axis}}));
  const ValueId result = TUTTI_TRY(node.add(node.op_type(), {flat}, {{"axis", int64_t{-1}}}));
  const ValueId shape = TUTTI_TRY(node.add("Shape", {node.input(0)}));
  return node.finish("Reshape", {result, shape}, {});
}

// Before opset 14 the number of outputs chose between training and inference; up to opset 8 statistics could be per
// element.
Status batch_norm_by_outputs(NodeBuilder& node) {
  node.attrs.erase("consumed_inputs");
  node.attrs.erase("is_test");
  if (node.attrs.take<int64_t>("spatial").value_or(1) == 0)
    return Error(Code::kUnsupported, "per-element statistics (spatial = 0) are not converted",
                 "export with spatial = 1");
  if (node.output_count() > 1)
    return Error(Code::kUnsupported, "training outputs (before opset 14) are not converted", "export for inference");
  return direct(node);
}

// Opset 18 gave one scale and bias per group; now there is one per channel.
Result<ValueId> per_channel(NodeBuilder& node, int input, ValueId channels_per_group) {
  const ValueId column = TUTTI_TRY(node.add("Unsqueeze", {node.input(input), node.ints({1})}));
  const ValueId groups = TUTTI_TRY(node.add("Shape", {node.input(input)}));
  const ValueId shape = TUTTI_TRY(node.add("Concat", {groups, channels_per_group}, {{"axis", int64_t{0}}}));
  const ValueId spread = TUTTI_TRY(node.add("Expand", {column, shape}));
  return node.add("Reshape", {spread, node.ints({-1})});
}

Status group_norm_18(NodeBuilder& node) {
  const auto groups = node.attrs.get<int64_t>("num_groups");
  if (!groups || *groups <= 0)
    return make_error(Code::kInvalidModel, "attribute 'num_groups': found {}, expected 1 or more", groups.value_or(0));
  const ValueId channels = TUTTI_TRY(node.add("Shape", {node.input(0)}, {{"start", int64_t{1}}, {"end", int64_t{2}}}));
  const ValueId each = TUTTI_TRY(node.add("Div", {channels, node.ints({*groups})}));
  const ValueId scale = TUTTI_TRY(per_channel(node, 1, each)), bias = TUTTI_TRY(per_channel(node, 2, each));
  return node.finish("GroupNormalization", {node.input(0), scale, bias});
}

// Before opset 7 an attribute said whether the first output was wanted.
Status recurrent_1(NodeBuilder& node) {
  node.attrs.erase("output_sequence");
  return direct(node);
}

// The first version's exponent was a float.
Status lp_pool_1(NodeBuilder& node) {
  if (const auto p = node.attrs.take<float>("p")) {
    if (*p != static_cast<float>(static_cast<int>(*p)))
      return make_error(Code::kUnsupported, "attribute 'p': found {}, expected a whole number", *p);
    node.attrs.set("p", static_cast<int64_t>(*p));
  }
  return direct(node);
}

Status instance_norm_1(NodeBuilder& node) {
  node.attrs.erase("consumed_inputs");
  return direct(node);
}

constexpr MapRow kRows[] = {
    {"Conv", 1, direct},
    {"ConvTranspose", 1, direct},
    {"DeformConv", 19, direct},
    {"CausalConvWithState", 27, direct},
    {"AveragePool", 1, direct},
    {"MaxPool", 1, direct},
    {"LpPool", 1, lp_pool_1},
    {"LpPool", 2, direct},
    {"MaxUnpool", 9, direct},
    {"GlobalAveragePool", 1, direct},
    {"GlobalMaxPool", 1, direct},
    {"GlobalLpPool", 1, lp_pool_1},
    {"GlobalLpPool", 2, direct},
    {"Softmax", 1, flattening_softmax},
    {"Softmax", 13, direct},
    {"LogSoftmax", 1, flattening_softmax},
    {"LogSoftmax", 13, direct},
    {"Hardmax", 1, flattening_softmax},
    {"Hardmax", 13, direct},
    {"BatchNormalization", 1, batch_norm_by_outputs},
    {"BatchNormalization", 14, direct},
    {"InstanceNormalization", 1, instance_norm_1},
    {"InstanceNormalization", 6, direct},
    {"LayerNormalization", 17, direct},
    {"GroupNormalization", 18, group_norm_18},
    {"GroupNormalization", 21, direct},
    {"RMSNormalization", 23, direct},
    {"SimplifiedLayerNormalization", 1, direct},
    {"LpNormalization", 1, direct},
    {"LRN", 1, direct},
    {"MeanVarianceNormalization", 9, direct},
    {"RNN", 1, recurrent_1},
    {"RNN", 7, direct},
    {"GRU", 1, recurrent_1},
    {"GRU", 7, direct},
    {"LSTM", 1, recurrent_1},
    {"LSTM", 7, direct},
    {"Attention", 23, direct},
    {"LinearAttention", 27, direct},
    {"RotaryEmbedding", 23, direct},
    {"NegativeLogLikelihoodLoss", 12, direct},
    {"SoftmaxCrossEntropyLoss", 12, direct},
};

}  // namespace

std::span<const MapRow> neural_rows() { return kRows; }

}  // namespace tutti::onnx
