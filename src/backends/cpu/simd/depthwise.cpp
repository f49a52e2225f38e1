#include "backends/cpu/simd/depthwise.h"

#include <algorithm>

#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/depthwise.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "backends/cpu/simd/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::cpu::HWY_NAMESPACE {
namespace {

using simd::DepthwiseRow;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

HWY_INLINE V load_lanes(const float* from, int64_t count) {
  const D d;
  const auto n = static_cast<int64_t>(hn::Lanes(d));
  return count >= n ? hn::LoadU(d, from) : hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, from);
}

void finish(const DepthwiseRow& p, int64_t o, int64_t c, int64_t count, V y) {
  const D d;
  const int64_t at = o * p.channels + c;
  if (p.residual && p.residual_first) y = hn::Add(y, load_lanes(p.residual + at, count));
  y = vector_activation(d, y, p.activation, p.alpha, p.beta);
  if (p.residual && !p.residual_first) y = hn::Add(y, load_lanes(p.residual + at, count));
  if (count >= static_cast<int64_t>(hn::Lanes(d))) {
    hn::StoreU(y, d, p.out + at);
  } else {
    hn::BlendedStore(y, hn::FirstN(d, static_cast<size_t>(count)), d, p.out + at);
  }
}

// One pixel, each tap checked: at the borders.
HWY_NOINLINE void edge_pixel(const DepthwiseRow& p, int64_t o, int64_t c, int64_t count) {
  const D d;
  V sum = p.bias ? load_lanes(p.bias + c, count) : hn::Zero(d);
  for (int64_t i = 0; i < p.kernel_height; ++i) {
    if (p.rows[i] == nullptr) continue;
    for (int64_t j = 0; j < p.kernel_width; ++j) {
      const int64_t x = o * p.stride + j * p.dilation - p.pad;
      if (x < 0 || x >= p.in_width) continue;
      const float* w = p.weights + (i * p.kernel_width + j) * p.channels + c;
      sum = hn::MulAdd(load_lanes(p.rows[i] + x * p.channels + c, count), load_lanes(w, count), sum);
    }
  }
  finish(p, o, c, count, sum);
}

// Four pixels by one full vector of channels, all columns inside: each weight is loaded once for the four.
HWY_INLINE void four_pixels(const DepthwiseRow& p, int64_t o, int64_t c) {
  const D d;
  const auto n = static_cast<int64_t>(hn::Lanes(d));
  const V bias = p.bias ? hn::LoadU(d, p.bias + c) : hn::Zero(d);
  V s0 = bias, s1 = bias, s2 = bias, s3 = bias;
  const int64_t step = p.stride * p.channels, next = p.dilation * p.channels;
  for (int64_t i = 0; i < p.kernel_height; ++i) {
    if (p.rows[i] == nullptr) continue;
    const float* x = p.rows[i] + (o * p.stride - p.pad) * p.channels + c;
    const float* w = p.weights + i * p.kernel_width * p.channels + c;
    for (int64_t j = 0; j < p.kernel_width; ++j) {
      const V weight = hn::LoadU(d, w);
      s0 = hn::MulAdd(hn::LoadU(d, x), weight, s0);
      s1 = hn::MulAdd(hn::LoadU(d, x + step), weight, s1);
      s2 = hn::MulAdd(hn::LoadU(d, x + 2 * step), weight, s2);
      s3 = hn::MulAdd(hn::LoadU(d, x + 3 * step), weight, s3);
      x += next;
      w += p.channels;
    }
  }
  finish(p, o, c, n, s0);
  finish(p, o + 1, c, n, s1);
  finish(p, o + 2, c, n, s2);
  finish(p, o + 3, c, n, s3);
}

void depthwise_row(const DepthwiseRow& p) {
  const D d;
  const auto n = static_cast<int64_t>(hn::Lanes(d));
  const int64_t begin = std::min(p.out_width, (p.pad + p.stride - 1) / p.stride);
  const int64_t room = p.in_width + p.pad - (p.kernel_width - 1) * p.dilation - 1;
  const int64_t end = std::clamp<int64_t>(room < 0 ? 0 : room / p.stride + 1, begin, p.out_width);
  for (int64_t c = p.channel_begin; c < p.channel_end; c += n) {
    const int64_t count = std::min(n, p.channel_end - c);
    int64_t o = 0;
    for (; o < begin; ++o) edge_pixel(p, o, c, count);
    if (count == n)
      for (; o + 4 <= end; o += 4) four_pixels(p, o, c);
    for (; o < p.out_width; ++o) edge_pixel(p, o, c, count);
  }
}

}  // namespace
}  // namespace tutti::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::cpu {
HWY_EXPORT(depthwise_row);
namespace simd {
void depthwise_row(const DepthwiseRow& row) { HWY_DYNAMIC_DISPATCH(depthwise_row)(row); }
}  // namespace simd
}  // namespace tutti::cpu
#endif
