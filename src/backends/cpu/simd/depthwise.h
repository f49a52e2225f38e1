// Depthwise convolution in channels-last layout, for one thread.
#pragma once

#include <cstdint>

#include "ops/fused.h"

namespace tutti::cpu::simd {

// One output row: out[o][c] = act(bias[c] + sum over taps of in[...][c] * weights[tap][c]) with the residual before or
// after.
struct DepthwiseRow {
  int64_t channels = 0;  // between pixels
  int64_t channel_begin = 0, channel_end = 0;
  int64_t in_width = 0, out_width = 0;
  int64_t kernel_height = 1, kernel_width = 1, stride = 1, dilation = 1, pad = 0;  // of the width
  const float* const* rows = nullptr;  // kernel_height input rows; null where the row lies in the padding
  const float* weights = nullptr;      // [kernel_height][kernel_width][channels]
  const float* bias = nullptr;
  const float* residual = nullptr;  // the row's
  bool residual_first = true;
  ops::Activation activation = ops::Activation::kNone;
  float alpha = 0, beta = 0;
  float* out = nullptr;
};
void depthwise_row(const DepthwiseRow& row);

}  // namespace tutti::cpu::simd
