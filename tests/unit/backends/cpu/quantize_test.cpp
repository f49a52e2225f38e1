#include <gtest/gtest.h>

#include <cmath>

#include "unit/backends/cpu/kernel_check.h"

namespace tutti::cpu::test {
namespace {

using ir::DType;
using ir::Tensor;

using Attrs = std::vector<ir::AttrField>;
using Ints = std::vector<int64_t>;

const DType kBytes[] = {DType::kUInt8, DType::kInt8};

Tensor bytes(DType type, ir::Dims dims, uint64_t seed = 1) {
  const bool is_signed = type == DType::kInt8;
  return random_ints(type, std::move(dims), is_signed ? -128 : 0, is_signed ? 127 : 255, seed);
}
Tensor scales(ir::Dims dims, uint64_t seed = 1) {
  Tensor t = random_floats(std::move(dims), seed);
  for (float& x : t.mutable_data<float>()) x = 0.01f + std::fabs(x) * 0.02f;
  return t;
}

TEST(Quantize, rounds_to_even_and_clamps_like_the_reference) {
  Tensor x = random_floats({3, 7, 45});
  const auto values = x.mutable_data<float>();
  values[0] = std::nanf(""), values[1] = INFINITY, values[2] = -INFINITY, values[3] = 0.05f, values[4] = 0.15f;
  for (DType type : kBytes) {
    check_node({"QuantizeLinear", {}, {x, Tensor::scalar(0.1f), bytes(type, {})}});
    for (int64_t axis : {0, 1, -1}) {
      const ir::Dims per_axis{x.dim(axis < 0 ? 2 : axis)};
      check_node({"QuantizeLinear", {{"axis", axis}}, {x, scales(per_axis), bytes(type, per_axis)}});
      check_node(
          {"DequantizeLinear", {{"axis", axis}}, {bytes(type, {3, 7, 45}), scales(per_axis), bytes(type, per_axis)}});
    }
    check_node({"DequantizeLinear", {}, {bytes(type, {200, 301}), Tensor::scalar(0.1f), bytes(type, {})}});
    check_node({"DequantizeLinear", {}, {bytes(type, {5}), Tensor::scalar(0.1f)}});
  }
  check_node({"QuantizeLinear", {}, {random_floats({400, 500}), Tensor::scalar(0.03f)}});
  check_node({"DequantizeLinear", {}, {random_ints(DType::kInt32, {300}, -99999, 99999), Tensor::scalar(0.001f)}});
}

TEST(Quantize, finds_the_range_itself) {
  for (int64_t n : {1, 9, 1000, 300000}) check_node({"DynamicQuantizeLinear", {}, {random_floats({n})}, {}, 3});
  Tensor positive = scales({77}), odd = random_floats({77});
  odd.mutable_data<float>()[5] = std::nanf("");
  check_node({"DynamicQuantizeLinear", {}, {positive}, {}, 3});
  check_node({"DynamicQuantizeLinear", {}, {odd}, {}, 3});
  check_node({"DynamicQuantizeLinear", {}, {Tensor::zeros(DType::kFloat32, {4})}, {}, 3});
}

TEST(IntMatMul, multiplies_every_pair_of_types_exactly) {
  for (DType a : kBytes)
    for (DType b : kBytes)
      for (const Ints& mkn : {Ints{1, 1, 1}, Ints{3, 5, 7}, Ints{7, 64, 33}, Ints{70, 129, 200}, Ints{1, 300, 130}}) {
        const Tensor x = bytes(a, {mkn[0], mkn[1]}), w = bytes(b, {mkn[1], mkn[2]}, 2);
        check_node({"MatMulInteger", {}, {x, w}, {1}});
        check_node({"MatMulInteger", {}, {x, w, bytes(a, {}), bytes(b, {})}, {1, 3}});
        check_node({"MatMulInteger", {}, {x, w, bytes(a, {mkn[0]}), bytes(b, {mkn[2]})}});
      }
}

TEST(IntMatMul, does_not_saturate_at_the_extremes) {
  Tensor x = Tensor::allocate(DType::kUInt8, {4, 512}), w = Tensor::allocate(DType::kUInt8, {512, 20});
  for (uint8_t& v : x.mutable_data<uint8_t>()) v = 255;
  for (uint8_t& v : w.mutable_data<uint8_t>()) v = 255;
  check_node({"MatMulInteger", {}, {x, w}, {1}});
  const Tensor zero = Tensor::scalar(uint8_t{255});
  for (uint8_t& v : x.mutable_data<uint8_t>()) v = 0;
  check_node({"MatMulInteger", {}, {x, w, zero}, {1}});
}

TEST(IntMatMul, broadcasts_batches_and_takes_vectors) {
  const DType u = DType::kUInt8;
  check_node({"MatMulInteger", {}, {bytes(u, {4, 5, 9}), bytes(u, {9, 6}, 2), bytes(u, {5, 1})}, {1}});
  check_node({"MatMulInteger", {}, {bytes(u, {3, 1, 5, 9}), bytes(u, {2, 9, 6}, 2)}});
  check_node(
      {"MatMulInteger", {}, {bytes(u, {2, 5, 9}), bytes(u, {2, 9, 6}, 2), bytes(u, {2, 5, 1}), bytes(u, {2, 1, 6})}});
  check_node({"MatMulInteger", {}, {bytes(u, {9}), bytes(u, {9, 6}, 2)}});
  check_node({"MatMulInteger", {}, {bytes(u, {5, 9}), bytes(u, {9}, 2)}});
  check_node({"MatMulInteger", {}, {bytes(u, {0, 9}), bytes(u, {9, 3}, 2)}});
}

TEST(IntMatMul, scales_its_sums) {
  for (DType type : kBytes) {
    const Tensor a = bytes(DType::kUInt8, {2, 13, 40}), b = bytes(type, {40, 37}, 2);
    const Tensor one = scales({}), per_column = scales({37}), per_row = scales({13});
    for (const Tensor& b_scale : {one, per_column}) {
      check_node({"MatMulIntegerToFloat",
                  {},
                  {a, b, one, b_scale, bytes(DType::kUInt8, {}), bytes(type, {}), random_floats({37})},
                  {1, 5}});
      check_node({"DynamicQuantizeMatMul",
                  {},
                  {random_floats({2, 13, 40}), b, b_scale, bytes(type, {}), random_floats({37})},
                  {1, 3}});
      check_node(
          {"QLinearMatMul",
           {},
           {a, one, bytes(DType::kUInt8, {}), b, b_scale, bytes(type, {}), Tensor::scalar(0.9f), bytes(type, {}, 3)},
           {3, 5}});
    }
    check_node({"QLinearMatMul",
                {},
                {a, per_row, bytes(DType::kUInt8, {13}), b, per_column, bytes(type, {37}), Tensor::scalar(0.9f),
                 bytes(DType::kUInt8, {}, 3)}});
  }
}

TEST(IntConv, convolves_with_padding_strides_groups_and_any_rank) {
  for (DType x : kBytes)
    for (DType w : kBytes) {
      const Tensor image = bytes(x, {2, 6, 11, 13});
      const Attrs padded{{"pads", Ints{1, 2, 0, 1}}, {"strides", Ints{2, 1}}, {"dilations", Ints{1, 2}}};
      check_node({"ConvInteger", {}, {image, bytes(w, {9, 6, 3, 3}, 2), bytes(x, {})}, {1}});
      check_node({"ConvInteger", padded, {image, bytes(w, {5, 6, 3, 2}, 2), bytes(x, {}), bytes(w, {5})}});
      check_node({"ConvInteger",
                  {{"group", int64_t{3}}},
                  {image, bytes(w, {12, 2, 3, 3}, 2), bytes(x, {}), bytes(w, {})},
                  {1, 3}});
      check_node(
          {"ConvInteger", {{"auto_pad", std::string("SAME_UPPER")}}, {bytes(x, {1, 3, 40}), bytes(w, {4, 3, 4}, 2)}});
      check_node({"ConvInteger", {}, {bytes(x, {1, 2, 5, 6, 7}), bytes(w, {3, 2, 2, 3, 2}, 2)}});
    }
}

TEST(IntConv, requantises_with_bias) {
  for (DType type : kBytes)
    for (const Tensor& w_scale : {scales({}), scales({9})})
      check_node({"QLinearConv",
                  {{"pads", Ints{1, 1, 1, 1}}},
                  {bytes(DType::kUInt8, {2, 6, 11, 13}), Tensor::scalar(0.02f), bytes(DType::kUInt8, {}),
                   bytes(type, {9, 6, 3, 3}, 2), w_scale, bytes(type, {}), Tensor::scalar(0.7f), bytes(type, {}, 3),
                   random_ints(DType::kInt32, {9}, -3000, 3000)},
                  {3, 5}});
}

}  // namespace
}  // namespace tutti::cpu::test
