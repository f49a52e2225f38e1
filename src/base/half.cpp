#include "base/half.h"

#include <algorithm>
#include <limits>

namespace tutti {

float half_to_float(Half value) {
  const uint32_t sign = (value.bits & 0x8000u) << 16;
  const uint32_t exponent = (value.bits >> 10) & 31, mantissa = value.bits & 1023;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent == 0) {
    const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

Half float_to_half(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return {static_cast<uint16_t>(sign | 0x7e00u)};
  if (magnitude >= 0x477ff000u) return {static_cast<uint16_t>(sign | 0x7c00u)};
  if (magnitude < 0x38800000u) {  // below 2^-14: subnormal, in units of 2^-24
    const float scaled = std::bit_cast<float>(magnitude) * 16777216.0f;
    return {static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(scaled)))};
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1);
  return {static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13))};
}

float mini_to_float(const MiniFloatFormat& f, uint8_t bits) {
  const int sign_bit = f.exponent_bits + f.mantissa_bits;
  const bool negative = (bits >> sign_bit) & 1;
  const int magnitude = bits & ((1 << sign_bit) - 1);
  const int exponent = magnitude >> f.mantissa_bits, mantissa = magnitude & ((1 << f.mantissa_bits) - 1);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  if (f.negative_zero_is_nan) {
    if (negative && magnitude == 0) return nan;
  } else if (f.has_nan && exponent == (1 << f.exponent_bits) - 1) {
    if (f.has_infinity) {
      if (mantissa != 0) return nan;
      return negative ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
    }
    if (mantissa == (1 << f.mantissa_bits) - 1) return nan;
  }
  const float result = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), 1 - f.bias - f.mantissa_bits)
                                     : std::ldexp(static_cast<float>(mantissa + (1 << f.mantissa_bits)),
                                                  exponent - f.bias - f.mantissa_bits);
  return negative ? -result : result;
}

namespace {

// Largest finite magnitude code of a format.
int max_code(const MiniFloatFormat& f) {
  const int all = (1 << (f.exponent_bits + f.mantissa_bits)) - 1;
  if (f.negative_zero_is_nan || !f.has_nan) return all;
  return f.has_infinity ? all - (1 << f.mantissa_bits) : all - 1;
}

uint8_t overflow_code(const MiniFloatFormat& f, bool negative, bool saturate) {
  const int sign = static_cast<int>(negative) << (f.exponent_bits + f.mantissa_bits);
  if (saturate || !f.has_nan) return static_cast<uint8_t>(sign | max_code(f));
  if (f.negative_zero_is_nan) return 0x80;
  return static_cast<uint8_t>(sign | (f.has_infinity ? max_code(f) + 1 : max_code(f) + 1));
}

}  // namespace

uint8_t float_to_mini(const MiniFloatFormat& f, float value, bool saturate) {
  const bool negative = std::signbit(value);
  const int sign_shift = f.exponent_bits + f.mantissa_bits;
  const int sign = static_cast<int>(negative) << sign_shift;
  if (std::isnan(value)) {
    if (!f.has_nan) return static_cast<uint8_t>(1 << sign_shift);  // negative zero, as ONNX's casts have it
    if (f.negative_zero_is_nan) return 0x80;
    return static_cast<uint8_t>(sign | ((1 << sign_shift) - 1));
  }
  if (std::isinf(value)) return overflow_code(f, negative, saturate);
  int exponent = 0;
  const float magnitude = std::fabs(value);
  std::frexp(magnitude, &exponent);  // magnitude = m * 2^exponent, m in [0.5, 1)
  const int unit =
      std::max(exponent - 1, 1 - f.bias) - f.mantissa_bits;  // the value of one last place, as a power of two
  const double rounded = std::nearbyint(std::ldexp(static_cast<double>(magnitude), -unit));
  int code = static_cast<int>(rounded) + ((unit + f.mantissa_bits + f.bias - 1) << f.mantissa_bits);
  if (magnitude == 0) code = 0;
  if (code > max_code(f)) return overflow_code(f, negative, saturate);
  if (code == 0 && f.negative_zero_is_nan) return 0;
  return static_cast<uint8_t>(sign | code);
}

float e8m0_to_float(uint8_t bits) {
  if (bits == 0xff) return std::numeric_limits<float>::quiet_NaN();
  return std::ldexp(1.0f, static_cast<int>(bits) - 127);
}

uint8_t float_to_e8m0(float value, bool saturate, E8m0Rounding rounding) {
  if (std::isnan(value)) return 0xff;
  const float magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return saturate ? 0xfe : 0xff;
  if (magnitude == 0) return 0;
  int exponent = 0;
  const float mantissa = std::frexp(magnitude, &exponent) * 2;  // in [1, 2)
  int code = exponent - 1 + 127;
  const bool exact = mantissa == 1.0f;
  if (rounding == E8m0Rounding::kUp && !exact) ++code;
  if (rounding == E8m0Rounding::kNearest && mantissa >= 1.5f) ++code;
  if (code < 0) return 0;
  if (code > 0xfe) return saturate ? 0xfe : 0xff;
  return static_cast<uint8_t>(code);
}

}  // namespace tutti
