// Bit-exact conversions between float32 and the small floating point formats. All conversions round to nearest, ties to
// even. Sources: IEEE 754-2019 (binary16), OCP 8-bit Floating Point Specification (E4M3FN, E5M2), OCP Microscaling
// Formats (E8M0, E2M1), ONNX "Float stored in 8 bits" (FNUZ forms).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace tutti {

struct Half {
  uint16_t bits = 0;
};
struct BFloat16 {
  uint16_t bits = 0;
};

float half_to_float(Half value);
Half float_to_half(float value);
inline float bfloat16_to_float(BFloat16 value) { return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16); }
inline BFloat16 float_to_bfloat16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return {static_cast<uint16_t>((bits >> 16) | 0x40)};
  return {static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};
}

// A minifloat: 1 sign bit, then exponent and mantissa bits. How its special values are coded differs by format.
struct MiniFloatFormat {
  int exponent_bits, mantissa_bits, bias;
  bool has_infinity;          // E5M2
  bool negative_zero_is_nan;  // FNUZ: 0x80 is the only NaN
  bool has_nan;               // false for E2M1
};
inline constexpr MiniFloatFormat kFloat8E4M3FN{4, 3, 7, false, false, true};
inline constexpr MiniFloatFormat kFloat8E4M3FNUZ{4, 3, 8, false, true, true};
inline constexpr MiniFloatFormat kFloat8E5M2{5, 2, 15, true, false, true};
inline constexpr MiniFloatFormat kFloat8E5M2FNUZ{5, 2, 16, false, true, true};
inline constexpr MiniFloatFormat kFloat4E2M1{2, 1, 1, false, false, false};

float mini_to_float(const MiniFloatFormat& format, uint8_t bits);
// `saturate`: out-of-range values (and infinities) become the largest finite value; otherwise infinity or NaN as the
// format has it.
uint8_t float_to_mini(const MiniFloatFormat& format, float value, bool saturate);

// E8M0: a power of two, 2^(bits-127); 0xff is NaN.
float e8m0_to_float(uint8_t bits);
enum class E8m0Rounding : uint8_t { kUp, kDown, kNearest };
uint8_t float_to_e8m0(float value, bool saturate, E8m0Rounding rounding);

}  // namespace tutti
