// com.microsoft operators that are made of others. Those with a kernel of their own are found by name (map.cpp).
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "onnx/map.h"

namespace tutti::onnx {
namespace {

using ir::DType;
using ir::ValueId;

// Takes an integer attribute that only has a meaning here when it is 0.
Status refuse_flag(NodeBuilder& node, std::string_view name) {
  const int64_t value = node.attrs.take<int64_t>(name).value_or(0);
  if (value == 0) return {};
  return make_error(Code::kUnsupported, "attribute '{}': found {}, expected 0", name, value);
}

// --- quantised: dequantise, compute, quantise

// Places of a tensor, its scale and its zero point among the inputs.
struct Quantized {
  int tensor, scale, zero_point;
};

Result<ValueId> dequantized(NodeBuilder& node, Quantized at, int64_t axis = 1) {
  return node.add("DequantizeLinear", {node.input(at.tensor), node.input(at.scale), node.input(at.zero_point)},
                  {{"axis", axis}});
}

// The node's result: `y` in the type of the zero point, or in `dtype` where there is none.
Status finish_quantized(NodeBuilder& node, ValueId y, Quantized at, DType dtype) {
  const ValueId zero = node.has_input(at.zero_point) ? node.input(at.zero_point) : node.number(dtype, 0);
  return node.finish("QuantizeLinear", {y, node.input(at.scale), zero});
}

Status qlinear_reduce_mean(NodeBuilder& node) {
  TUTTI_TRY(node.require_inputs({0, 1, 3}));
  const DType dtype = node.input_type(0).dtype;
  std::vector<ValueId> inputs{TUTTI_TRY(dequantized(node, {0, 1, 2}))};
  if (const auto axes = node.attrs.take<std::vector<int64_t>>("axes")) inputs.push_back(node.ints(*axes));
  const ValueId mean =
      TUTTI_TRY(node.add("ReduceMean", inputs, {{"keepdims", node.attrs.take<int64_t>("keepdims").value_or(1)}}));
  return finish_quantized(node, mean, {-1, 3, 4}, dtype);
}

Status qlinear_where(NodeBuilder& node) {
  TUTTI_TRY(node.require_inputs({0, 1, 2, 4, 5, 7}));
  const DType dtype = node.input_type(1).dtype;
  const ValueId yes = TUTTI_TRY(dequantized(node, {1, 2, 3})), no = TUTTI_TRY(dequantized(node, {4, 5, 6}));
  return finish_quantized(node, TUTTI_TRY(node.add("Where", {node.input(0), yes, no})), {-1, 7, 8}, dtype);
}

// A, a_scale, a_zero_point, B, b_scale, b_zero_point, C?, y_scale?, y_zero_point?. C counts in units of the product.
Status q_gemm(NodeBuilder& node) {
  TUTTI_TRY(node.require_inputs({0, 1, 3, 4}));
  const float alpha = node.attrs.take<float>("alpha").value_or(1);
  const int64_t transposed = node.attrs.int_or("transB", 0);
  std::vector<ValueId> inputs{TUTTI_TRY(dequantized(node, {0, 1, 2})),
                              TUTTI_TRY(dequantized(node, {3, 4, 5}, transposed != 0 ? 0 : 1))};
  if (node.has_input(6)) {
    const ValueId unit = TUTTI_TRY(node.add("Mul", {node.input(1), node.input(4)}));
    const ValueId c = TUTTI_TRY(node.cast(node.input(6), DType::kFloat32));
    inputs.push_back(TUTTI_TRY(node.add("Mul", {c, unit})));
  }
  const AttrMap gemm{{"alpha", alpha},
                     {"beta", alpha},
                     {"transA", node.attrs.take<int64_t>("transA").value_or(0)},
                     {"transB", node.attrs.take<int64_t>("transB").value_or(0)}};
  if (!node.has_input(7)) return node.finish("Gemm", std::move(inputs), gemm);
  const DType dtype = node.input_type(0).dtype;
  return finish_quantized(node, TUTTI_TRY(node.add("Gemm", std::move(inputs), gemm)), {-1, 7, 8}, dtype);
}

// input, weight, bias, input_scale, weight_scale, mask_index?, input_zero_point?, weight_zero_point?, past?.
Status q_attention(NodeBuilder& node) {
  TUTTI_TRY(node.require_inputs({0, 1, 2, 3, 4}));
  TUTTI_TRY(refuse_flag(node, "do_rotary"));
  TUTTI_TRY(refuse_flag(node, "past_present_share_buffer"));
  const ValueId projected =
      TUTTI_TRY(node.add("MatMulIntegerToFloat", {node.input(0), node.input(1), node.input(3), node.input(4),
                                                  node.input(6), node.input(7), node.input(2)}));
  const auto parts =
      TUTTI_TRY(node.add_many("Split", {projected}, {{"axis", int64_t{-1}}, {"num_outputs", int64_t{3}}}, 3));
  std::vector<ValueId> inputs{parts[0], parts[1], parts[2], ir::kNoValue, node.input(5), ir::kNoValue};
  if (node.has_input(8)) {
    const auto past =
        TUTTI_TRY(node.add_many("Split", {node.input(8)}, {{"axis", int64_t{0}}, {"num_outputs", int64_t{2}}}, 2));
    for (const ValueId part : past) inputs.push_back(TUTTI_TRY(node.add("Squeeze", {part, node.ints({0})})));
  }
  const auto outputs = TUTTI_TRY(node.add_many("MultiHeadAttention", std::move(inputs), node.attrs, 3));
  node.set_output(0, outputs[0]);
  if (!node.wants_output(1)) return {};
  const ValueId k = TUTTI_TRY(node.add("Unsqueeze", {outputs[1], node.ints({0})})),
                v = TUTTI_TRY(node.add("Unsqueeze", {outputs[2], node.ints({0})}));
  node.set_output(1, TUTTI_TRY(node.add("Concat", {k, v}, {{"axis", int64_t{0}}})));
  return {};
}

// The bytes of a constant as elements of `bits` bits, the first in the low bits.
ir::Tensor as_packed(const ir::Tensor& bytes, int64_t bits) {
  ir::Dims dims = bytes.dims();
  dims.back() *= 8 / bits;
  const auto owner = std::make_shared<ir::Tensor>(bytes);
  return ir::Tensor::view(bits == 4 ? DType::kUInt4 : DType::kUInt2, std::move(dims), owner->raw(), owner);
}

// Zero points of packed bytes: rows are packed apart, and their last byte may have room to spare. Without any, each is
// the middle of the range.
ir::Tensor packed_zero_points(const ir::Tensor* bytes, const ir::Tensor& data, const ir::Dims& dims) {
  const int bits = ir::dtype_bits(data.dtype());
  ir::Tensor out = ir::Tensor::zeros(data.dtype(), dims);
  const int64_t columns = dims.back(), row_bytes = (columns * bits + 7) / 8;
  for (int64_t i = 0; i < out.size(); ++i) {
    const int64_t bit = i % columns * bits;
    const int64_t byte = bytes ? bytes->get_int(i / columns * row_bytes + bit / 8) : 0;
    out.set_int(i, bytes ? byte >> (bit % 8) & ((1 << bits) - 1) : 1 << (bits - 1));
  }
  return out;
}

// data, indices, scales, zero_points? of GatherBlockQuantized as constants of whole elements.
struct BlockTable {
  ValueId data, scales, zero_points = ir::kNoValue;
  int64_t rank;
};

Result<BlockTable> read_block_table(NodeBuilder& node, int64_t bits) {
  const ir::Tensor *data = node.constant(0), *scales = node.constant(2), *zeros = node.constant(3);
  BlockTable table{node.input(0), node.input(2), node.input(3),
                   node.input_type(0).has_rank() ? node.input_type(0).rank() : 0};
  if (node.input_type(0).dtype != DType::kUInt8) return table;
  if (bits != 2 && bits != 4 && bits != 8)
    return make_error(Code::kInvalidModel, "attribute 'bits': found {}, expected 2, 4 or 8", bits);
  if (!data || data->rank() < 1 || !scales || scales->rank() != data->rank() || (node.has_input(3) && !zeros))
    return make_error(Code::kUnsupported, "found bytes that are not constants of one rank, expected constants");
  ir::Tensor elements = bits == 8 ? *data : as_packed(*data, bits);
  const int64_t row_bytes = (scales->dims().back() * bits + 7) / 8;
  if (zeros && zeros->size() != scales->size() / std::max<int64_t>(scales->dims().back(), 1) * row_bytes)
    return make_error(Code::kInvalidModel, "zero_points: found {}, expected {} bytes for each row of {}",
                      zeros->type_text(), row_bytes, scales->type_text());
  table.zero_points = node.add_constant(packed_zero_points(zeros, elements, scales->dims()));
  table.data = node.add_constant(std::move(elements));
  return table;
}

// Rows of a table are gathered with their scales and zero points, then dequantised.
Status gather_block_quantized(NodeBuilder& node) {
  TUTTI_TRY(node.require_inputs({0, 1, 2}));
  const int64_t bits = node.attrs.take<int64_t>("bits").value_or(4),
                block = node.attrs.take<int64_t>("block_size").value_or(128);
  const BlockTable table = TUTTI_TRY(read_block_table(node, bits));
  const int64_t gathered =
      TUTTI_TRY(ir::normalize_axis(node.attrs.take<int64_t>("gather_axis").value_or(0), table.rank));
  const int64_t quantized =
      TUTTI_TRY(ir::normalize_axis(node.attrs.take<int64_t>("quantize_axis").value_or(1), table.rank));
  if (quantized <= gathered || block < 1)
    return make_error(Code::kUnsupported,
                      "found gather_axis {}, quantize_axis {} and block_size {}, expected blocks "
                      "along an axis after the gathered one",
                      gathered, quantized, block);
  std::vector<ValueId> rows;
  for (const ValueId part : {table.data, table.scales, table.zero_points})
    rows.push_back(part == ir::kNoValue ? part
                                        : TUTTI_TRY(node.add("Gather", {part, node.input(1)}, {{"axis", gathered}})));
  return node.finish("DequantizeLinear", std::move(rows), {{"axis", quantized - table.rank}, {"block_size", block}});
}

// --- float

// X + bias + skip.
Status bias_add(NodeBuilder& node) {
  TUTTI_TRY(node.require_inputs({0, 1, 2}));
  const ValueId sum = TUTTI_TRY(node.add("Add", {node.input(0), node.input(1)}));
  return node.finish("Add", {sum, node.input(2)});
}

// The left half of X + bias times Gelu of the right half.
Status bias_split_gelu(NodeBuilder& node) {
  TUTTI_TRY(node.require_inputs({0, 1}));
  const ValueId sum = TUTTI_TRY(node.add("Add", {node.input(0), node.input(1)}));
  const auto halves = TUTTI_TRY(node.add_many("Split", {sum}, {{"axis", int64_t{-1}}, {"num_outputs", int64_t{2}}}, 2));
  return node.finish("Mul", {halves[0], TUTTI_TRY(node.add("Gelu", {halves[1]}))});
}

// X + Y * gate; the projected form is for one kind of device.
Status gated_add(NodeBuilder& node) {
  TUTTI_TRY(node.require_inputs({0, 1, 2}));
  if (node.has_input(3)) return Error(Code::kUnsupported, "gate_weight is given, expected it to be absent");
  return node.finish("Add", {node.input(0), TUTTI_TRY(node.add("Mul", {node.input(1), node.input(2)}))});
}

// Gemm, then an activation with its own alpha, beta and gamma.
Status fused_gemm(NodeBuilder& node) {
  constexpr std::string_view kActivations[] = {"Elu",     "HardSigmoid", "LeakyRelu", "Relu", "Selu",
                                               "Sigmoid", "Softplus",    "Softsign",  "Tanh", "ThresholdedRelu"};
  const std::string activation = node.attrs.take<std::string>("activation").value_or("");
  if (std::find(std::begin(kActivations), std::end(kActivations), activation) == std::end(kActivations))
    return make_error(Code::kUnsupported, "attribute 'activation': found '{}', expected one of {}", activation,
                      fmt::join(kActivations, ", "));
  AttrMap parameters;
  for (const std::string name : {"alpha", "beta", "gamma"})
    if (const auto value = node.attrs.take<float>("activation_" + name)) parameters.set(name, *value);
  const ValueId y = TUTTI_TRY(node.add("Gemm", node.inputs(), node.attrs));
  return node.finish(activation, {y}, parameters);
}

Status transpose_matmul(NodeBuilder& node) { return node.finish("FusedMatMul", node.inputs()); }

Status expand_dims(NodeBuilder& node) {
  TUTTI_TRY(node.require_inputs({0, 1}));
  const ValueId axis = TUTTI_TRY(node.cast(node.input(1), DType::kInt64));
  return node.finish("Unsqueeze", {node.input(0), TUTTI_TRY(node.add("Reshape", {axis, node.ints({-1})}))});
}

// The amounts may be a row [1, 2n], the value a vector of one.
Status pad(NodeBuilder& node) {
  TUTTI_TRY(node.require_inputs({0, 1}));
  std::vector<ValueId> inputs{node.input(0), TUTTI_TRY(node.add("Reshape", {node.input(1), node.ints({-1})}))};
  if (node.has_input(2)) inputs.push_back(TUTTI_TRY(node.add("Reshape", {node.input(2), node.ints({})})));
  return node.finish("Pad", std::move(inputs));
}

Status nhwc_max_pool(NodeBuilder& node) {
  const int64_t rank = TUTTI_TRY(node.known_rank(0));
  if (rank < 3) return make_error(Code::kInvalidModel, "input 0: found rank {}, expected 3 or more", rank);
  std::vector<int64_t> first{0, rank - 1}, last{0};
  for (int64_t i = 1; i < rank - 1; ++i) first.push_back(i);
  for (int64_t i = 2; i < rank; ++i) last.push_back(i);
  last.push_back(1);
  const ValueId x = TUTTI_TRY(node.add("Transpose", {node.input(0)}, {{"perm", first}}));
  const ValueId y = TUTTI_TRY(node.add("MaxPool", {x}, node.attrs));
  return node.finish("Transpose", {y}, {{"perm", last}});
}

constexpr MapRow kRows[] = {
    {"BiasAdd", 1, bias_add},
    {"BiasSplitGelu", 1, bias_split_gelu},
    {"ExpandDims", 1, expand_dims},
    {"FusedGemm", 1, fused_gemm},
    {"GatedAdd", 1, gated_add},
    {"GatherBlockQuantized", 1, gather_block_quantized},
    {"NhwcMaxPool", 1, nhwc_max_pool},
    {"Pad", 1, pad},
    {"QAttention", 1, q_attention},
    {"QGemm", 1, q_gemm},
    {"QLinearReduceMean", 1, qlinear_reduce_mean},
    {"QLinearWhere", 1, qlinear_where},
    {"TransposeMatMul", 1, transpose_matmul},
};

}  // namespace

std::span<const MapRow> microsoft_rows() { return kRows; }

}  // namespace tutti::onnx
