// Conversion between float32 and 8-bit integers, for one thread.
#pragma once

#include <cstdint>

namespace tutti::cpu::simd {

// One scale and zero point. `is_signed`: int8, else uint8.
struct Quant8 {
  float scale = 1;
  int32_t zero = 0;
  bool is_signed = false;
};
// dst = clamp(round_to_even(src / scale) + zero); NaN gives the zero point.
void quantize(const Quant8& q, const float* src, void* dst, int64_t count);
// dst = (src - zero) * scale
void dequantize(const Quant8& q, const void* src, float* dst, int64_t count);
// dst = src - zero, for products of integers.
void center(const Quant8& q, const void* src, int16_t* dst, int64_t count);

}  // namespace tutti::cpu::simd
