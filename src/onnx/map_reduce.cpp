// Reductions, matrix products, quantization, random numbers and signals.
#include "onnx/map.h"

namespace tutti::onnx {
namespace {

// Before opset 18 (13 for ReduceSum) the axes were an attribute; none, or an empty list, meant all.
Status reduce_with_axes_attribute(NodeBuilder& node) {
  const auto axes = node.attrs.take<std::vector<int64_t>>("axes");
  if (!axes || axes->empty()) return direct(node);
  return node.finish(node.op_type(), {node.input(0), node.ints(*axes)});
}

// Before opset 7 the bias was broadcast on request; now it always is.
Status gemm_with_broadcast_attribute(NodeBuilder& node) {
  node.attrs.erase("broadcast");
  return direct(node);
}

// Before opset 20 the axis was an attribute with another default.
Status dft_with_axis_attribute(NodeBuilder& node) {
  const int64_t axis = node.attrs.take<int64_t>("axis").value_or(1);
  return node.finish("DFT", {node.input(0), node.input(1), node.int_scalar(axis)});
}

Status top_k_with_attribute(NodeBuilder& node) {
  const auto k = node.attrs.take<int64_t>("k");
  if (!k) return make_error(Code::kInvalidModel, "attribute 'k': found none, expected an integer");
  return node.finish("TopK", {node.input(0), node.ints({*k})});
}

constexpr MapRow kRows[] = {
    {"ReduceL1", 1, reduce_with_axes_attribute},
    {"ReduceL1", 18, direct},
    {"ReduceL2", 1, reduce_with_axes_attribute},
    {"ReduceL2", 18, direct},
    {"ReduceLogSum", 1, reduce_with_axes_attribute},
    {"ReduceLogSum", 18, direct},
    {"ReduceLogSumExp", 1, reduce_with_axes_attribute},
    {"ReduceLogSumExp", 18, direct},
    {"ReduceMax", 1, reduce_with_axes_attribute},
    {"ReduceMax", 18, direct},
    {"ReduceMean", 1, reduce_with_axes_attribute},
    {"ReduceMean", 18, direct},
    {"ReduceMin", 1, reduce_with_axes_attribute},
    {"ReduceMin", 18, direct},
    {"ReduceProd", 1, reduce_with_axes_attribute},
    {"ReduceProd", 18, direct},
    {"ReduceSum", 1, reduce_with_axes_attribute},
    {"ReduceSum", 13, direct},
    {"ReduceSumSquare", 1, reduce_with_axes_attribute},
    {"ReduceSumSquare", 18, direct},
    {"ArgMax", 1, direct},
    {"ArgMin", 1, direct},
    {"CumSum", 11, direct},
    {"CumProd", 26, direct},
    {"TopK", 1, top_k_with_attribute},
    {"TopK", 10, direct},
    {"MatMul", 1, direct},
    {"Gemm", 1, gemm_with_broadcast_attribute},
    {"Gemm", 7, direct},
    {"Einsum", 12, direct},
    {"Det", 11, direct},
    {"MatMulInteger", 10, direct},
    {"ConvInteger", 10, direct},
    {"QLinearConv", 10, direct},
    {"QLinearMatMul", 10, direct},
    {"QuantizeLinear", 10, direct},
    {"DequantizeLinear", 10, direct},
    {"DynamicQuantizeLinear", 11, direct},
    {"Bernoulli", 15, direct},
    {"Multinomial", 7, direct},
    {"RandomNormal", 1, direct},
    {"RandomNormalLike", 1, direct},
    {"RandomUniform", 1, direct},
    {"RandomUniformLike", 1, direct},
    {"BlackmanWindow", 17, direct},
    {"HammingWindow", 17, direct},
    {"HannWindow", 17, direct},
    {"MelWeightMatrix", 17, direct},
    {"DFT", 17, dft_with_axis_attribute},
    {"DFT", 20, direct},
    {"STFT", 17, direct},
};

}  // namespace

std::span<const MapRow> reduce_rows() { return kRows; }

}  // namespace tutti::onnx
