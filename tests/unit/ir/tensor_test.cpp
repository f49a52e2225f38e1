#include "ir/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tutti::ir {
namespace {

TEST(Tensor, packed_types_keep_their_neighbours) {
  for (const DType dtype : {DType::kInt4, DType::kInt2}) {
    Tensor t = Tensor::zeros(dtype, {5});
    for (int64_t i = 0; i < 5; ++i) t.set_int(i, i % 4 - 2);
    for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(t.get_int(i), i % 4 - 2) << dtype_name(dtype);
  }
}

TEST(Tensor, int64_is_exact) {
  const int64_t big = (int64_t{1} << 62) + 1;
  EXPECT_EQ(Tensor::scalar<int64_t>(big).get_int(0), big);
}

TEST(Tensor, copies_share_and_clones_do_not) {
  Tensor a = Tensor::scalar<float>(1.0f);
  const Tensor shared = a, own = a.clone();
  a.mutable_data<float>()[0] = 2.0f;
  EXPECT_EQ(shared.data<float>()[0], 2.0f);
  EXPECT_EQ(own.data<float>()[0], 1.0f);
}

TEST(Half, every_bit_pattern_survives_the_round_trip) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = half_to_float({static_cast<uint16_t>(bits)});
    if (std::isnan(value)) continue;
    EXPECT_EQ(float_to_half(value).bits, bits);
  }
}

TEST(Half, rounds_to_nearest_even_and_overflows_to_infinity) {
  EXPECT_EQ(half_to_float(float_to_half(2049.0f)), 2048.0f);
  EXPECT_EQ(half_to_float(float_to_half(2051.0f)), 2052.0f);
  EXPECT_TRUE(std::isinf(half_to_float(float_to_half(65520.0f))));
  EXPECT_EQ(half_to_float(float_to_half(65519.0f)), 65504.0f);
}

TEST(MiniFloat, every_finite_bit_pattern_survives_the_round_trip) {
  for (const MiniFloatFormat& format : {kFloat8E4M3FN, kFloat8E4M3FNUZ, kFloat8E5M2, kFloat8E5M2FNUZ, kFloat4E2M1}) {
    const int count = 1 << (1 + format.exponent_bits + format.mantissa_bits);
    for (int bits = 0; bits < count; ++bits) {
      const float value = mini_to_float(format, static_cast<uint8_t>(bits));
      if (!std::isfinite(value)) continue;
      EXPECT_EQ(float_to_mini(format, value, true), bits) << value;
    }
  }
}

TEST(MiniFloat, saturates_only_when_asked) {
  EXPECT_EQ(mini_to_float(kFloat8E4M3FN, float_to_mini(kFloat8E4M3FN, 1e6f, true)), 448.0f);
  EXPECT_TRUE(std::isnan(mini_to_float(kFloat8E4M3FN, float_to_mini(kFloat8E4M3FN, 1e6f, false))));
  EXPECT_TRUE(std::isinf(mini_to_float(kFloat8E5M2, float_to_mini(kFloat8E5M2, 1e6f, false))));
}

TEST(E8m0, rounds_as_asked) {
  EXPECT_EQ(float_to_e8m0(3.0f, true, E8m0Rounding::kUp), 129);
  EXPECT_EQ(float_to_e8m0(3.0f, true, E8m0Rounding::kDown), 128);
  EXPECT_EQ(e8m0_to_float(127), 1.0f);
}

}  // namespace
}  // namespace tutti::ir
