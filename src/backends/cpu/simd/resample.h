// Weighted sums of float32 rows and of picked elements, for one thread: what interpolation comes down to. Sums run in
// the order of the taps.
#pragma once

#include <cstdint>

namespace tutti::cpu::simd {

// dst[i] = sum over t of weights[t] * src[positions[t] * stride + i]
struct RowTaps {
  const int32_t* positions = nullptr;
  const float* weights = nullptr;
  int64_t taps = 0;
  int64_t stride = 0;
};
void weighted_rows(const float* src, const RowTaps& taps, float* dst, int64_t count);

// dst[i] = sum over t of weights[t * count + i] * src[positions[t * count + i]]
struct ElementTaps {
  const int32_t* positions = nullptr;
  const float* weights = nullptr;
  int64_t taps = 0;
};
void weighted_elements(const float* src, const ElementTaps& taps, float* dst, int64_t count);

}  // namespace tutti::cpu::simd
