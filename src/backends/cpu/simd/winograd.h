// The transforms of Winograd's F(2x2, 3x3): a 3x3 convolution of 2x2 outputs takes 16 products instead of 36, between
// a 4x4 patch and the window, both transformed. For one thread; channels are a multiple of 16.
#pragma once

#include <cstdint>

#include "ops/fused.h"

namespace tutti::cpu::simd {

// v[p * stride + c], p = 0..15, from the 16 pixels of a patch, row by row.
void winograd_input(const float* const* pixels, int64_t channels, float* v, int64_t stride);

struct WinogradOutput {
  const float* m = nullptr;  // m[p * stride + c]: the 16 sums of products
  int64_t stride = 0, channels = 0;
  const float* bias = nullptr;
  float* out[4] = {};  // the 2x2 pixels; null outside of the image
  const float* residual[4] = {};
  bool residual_first = false;
  ops::Activation activation = ops::Activation::kNone;
  float alpha = 0, beta = 0;
};
// False when a sum is infinite or not a number: it may have come from a pixel that belongs to another output only.
bool winograd_output(const WinogradOutput& tile);

// g: 9 values of a window `step` apart; u: 16 values `step` apart.
void winograd_window(const float* g, int64_t g_step, float* u, int64_t u_step);

}  // namespace tutti::cpu::simd
