// Exchanges rows and columns of float32 matrices. Compiled once per instruction set: included after foreach_target.h,
// outside of any namespace.
#if defined(TUTTI_CPU_TURN_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_CPU_TURN_INL_H
#undef TUTTI_CPU_TURN_INL_H
#else
#define TUTTI_CPU_TURN_INL_H
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct Turn {
  const float* src;
  int64_t src_stride, rows, columns;
  float* dst;
  int64_t dst_stride;
  float factor = 1;
};

// dst[column][row] = factor * src[row][column], or += with kAdd. 4 x 4 at a time in registers.
template <bool kAdd>
void turn(const Turn& t) {
  int64_t rows = 0, columns = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::FixedTag<float, 4> d;
  using V4 = hn::Vec<hn::FixedTag<float, 4>>;
  const V4 factor = hn::Set(d, t.factor);
  rows = t.rows / 4 * 4, columns = t.columns / 4 * 4;
  auto put = [&](V4 value, float* to) {
    value = hn::Mul(value, factor);
    hn::StoreU(kAdd ? hn::Add(hn::LoadU(d, to), value) : value, d, to);
  };
  for (int64_t r = 0; r < rows; r += 4) {
    const float* from = t.src + r * t.src_stride;
    float* to = t.dst + r;
    for (int64_t c = 0; c < columns; c += 4, from += 4, to += 4 * t.dst_stride) {
      const V4 r0 = hn::LoadU(d, from), r1 = hn::LoadU(d, from + t.src_stride);
      const V4 r2 = hn::LoadU(d, from + 2 * t.src_stride), r3 = hn::LoadU(d, from + 3 * t.src_stride);
      const V4 a = hn::InterleaveLower(d, r0, r1), b = hn::InterleaveLower(d, r2, r3);
      const V4 e = hn::InterleaveUpper(d, r0, r1), f = hn::InterleaveUpper(d, r2, r3);
      put(hn::ConcatLowerLower(d, b, a), to);
      put(hn::ConcatUpperUpper(d, b, a), to + t.dst_stride);
      put(hn::ConcatLowerLower(d, f, e), to + 2 * t.dst_stride);
      put(hn::ConcatUpperUpper(d, f, e), to + 3 * t.dst_stride);
    }
  }
#endif
  for (int64_t r = 0; r < t.rows; ++r)
    for (int64_t c = r < rows ? columns : 0; c < t.columns; ++c) {
      float& to = t.dst[c * t.dst_stride + r];
      const float value = t.factor * t.src[r * t.src_stride + c];
      to = kAdd ? to + value : value;
    }
}

}  // namespace tutti::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
