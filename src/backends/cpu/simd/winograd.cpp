#include "backends/cpu/simd/winograd.h"

#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/winograd.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "backends/cpu/simd/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::cpu::HWY_NAMESPACE {
namespace {

using simd::WinogradOutput;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

// Four values of one line of a patch, transformed.
struct Line {
  V v0, v1, v2, v3;
};
HWY_INLINE Line transform(V d0, V d1, V d2, V d3) {
  return {hn::Sub(d0, d2), hn::Add(d1, d2), hn::Sub(d2, d1), hn::Sub(d1, d3)};
}
HWY_INLINE void put(const Line& line, float* v, int64_t stride) {
  const D d;
  hn::StoreU(line.v0, d, v);
  hn::StoreU(line.v1, d, v + stride);
  hn::StoreU(line.v2, d, v + 2 * stride);
  hn::StoreU(line.v3, d, v + 3 * stride);
}

void winograd_input(const float* const* pixels, int64_t channels, float* v, int64_t stride) {
  const D d;
  for (int64_t c = 0; c < channels; c += kLanes) {
    auto load = [&](int i) { return hn::LoadU(d, pixels[i] + c); };
    const Line a = transform(load(0), load(4), load(8), load(12)), b = transform(load(1), load(5), load(9), load(13)),
               e = transform(load(2), load(6), load(10), load(14)), f = transform(load(3), load(7), load(11), load(15));
    put(transform(a.v0, b.v0, e.v0, f.v0), v + c, stride);
    put(transform(a.v1, b.v1, e.v1, f.v1), v + 4 * stride + c, stride);
    put(transform(a.v2, b.v2, e.v2, f.v2), v + 8 * stride + c, stride);
    put(transform(a.v3, b.v3, e.v3, f.v3), v + 12 * stride + c, stride);
  }
}

struct Pair {
  V v0, v1;
};
HWY_INLINE Pair fold(V m0, V m1, V m2, V m3) { return {hn::Add(hn::Add(m0, m1), m2), hn::Sub(hn::Sub(m1, m2), m3)}; }

HWY_INLINE void finish(const WinogradOutput& t, int at, int64_t c, V y) {
  const D d;
  if (t.out[at] == nullptr) return;
  if (t.bias != nullptr) y = hn::Add(y, hn::LoadU(d, t.bias + c));
  if (t.residual[at] != nullptr && t.residual_first) y = hn::Add(y, hn::LoadU(d, t.residual[at] + c));
  y = vector_activation(d, y, t.activation, t.alpha, t.beta);
  if (t.residual[at] != nullptr && !t.residual_first) y = hn::Add(y, hn::LoadU(d, t.residual[at] + c));
  hn::StoreU(y, d, t.out[at] + c);
}

bool winograd_output(const WinogradOutput& t) {
  const D d;
  V odd = hn::Zero(d);  // not a number once a sum was infinite or not a number
  for (int64_t c = 0; c < t.channels; c += kLanes) {
    auto load = [&](int p) { return hn::LoadU(d, t.m + p * t.stride + c); };
    const Pair a = fold(load(0), load(4), load(8), load(12)), b = fold(load(1), load(5), load(9), load(13)),
               e = fold(load(2), load(6), load(10), load(14)), f = fold(load(3), load(7), load(11), load(15));
    const Pair top = fold(a.v0, b.v0, e.v0, f.v0), bottom = fold(a.v1, b.v1, e.v1, f.v1);
    const V all = hn::Add(hn::Add(hn::Abs(top.v0), hn::Abs(top.v1)), hn::Add(hn::Abs(bottom.v0), hn::Abs(bottom.v1)));
    odd = hn::Add(odd, hn::Sub(all, all));
    finish(t, 0, c, top.v0);
    finish(t, 1, c, top.v1);
    finish(t, 2, c, bottom.v0);
    finish(t, 3, c, bottom.v1);
  }
  return hn::AllTrue(d, hn::Eq(odd, odd));
}

}  // namespace
}  // namespace tutti::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::cpu {
HWY_EXPORT(winograd_input);
HWY_EXPORT(winograd_output);
namespace simd {
namespace {

void transform_window(float g0, float g1, float g2, float* u, int64_t step) {
  u[0] = g0;
  u[step] = 0.5f * (g0 + g1 + g2);
  u[2 * step] = 0.5f * (g0 - g1 + g2);
  u[3 * step] = g2;
}

}  // namespace

void winograd_input(const float* const* pixels, int64_t channels, float* v, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(winograd_input)(pixels, channels, v, stride);
}
bool winograd_output(const WinogradOutput& tile) { return HWY_DYNAMIC_DISPATCH(winograd_output)(tile); }

void winograd_window(const float* g, int64_t g_step, float* u, int64_t u_step) {
  float rows[12];  // [4][3]
  for (int j = 0; j < 3; ++j) transform_window(g[j * g_step], g[(3 + j) * g_step], g[(6 + j) * g_step], rows + j, 3);
  for (int i = 0; i < 4; ++i)
    transform_window(rows[3 * i], rows[3 * i + 1], rows[3 * i + 2], u + 4 * i * u_step, u_step);
}

}  // namespace simd
}  // namespace tutti::cpu
#endif
