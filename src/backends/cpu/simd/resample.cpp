#include "backends/cpu/simd/resample.h"

#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/resample.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "backends/cpu/simd/lanes-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::cpu::HWY_NAMESPACE {
namespace {

using simd::ElementTaps;
using simd::RowTaps;

// kTaps 0: as many as there are.
template <int kTaps>
void sum_rows(const float* src, const RowTaps& taps, float* dst, int64_t count) {
  const D d;
  const int64_t n = kTaps > 0 ? kTaps : taps.taps;
  for (int64_t i = 0; i < count; i += kLanes) {
    V sum = hn::Mul(hn::Set(d, taps.weights[0]), get(src + taps.positions[0] * taps.stride + i, count - i));
    for (int64_t t = 1; t < n; ++t)
      sum = hn::MulAdd(hn::Set(d, taps.weights[t]), get(src + taps.positions[t] * taps.stride + i, count - i), sum);
    set(sum, dst + i, count - i);
  }
}

void weighted_rows(const float* src, const RowTaps& taps, float* dst, int64_t count) {
  switch (taps.taps) {
    case 1: return sum_rows<1>(src, taps, dst, count);
    case 2: return sum_rows<2>(src, taps, dst, count);
    case 4: return sum_rows<4>(src, taps, dst, count);
    default: return sum_rows<0>(src, taps, dst, count);
  }
}

void weighted_elements(const float* src, const ElementTaps& taps, float* dst, int64_t count) {
  const D d;
  const hn::RebindToSigned<D> di;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    V sum = hn::Mul(hn::LoadU(d, taps.weights + i), hn::GatherIndex(d, src, hn::LoadU(di, taps.positions + i)));
    for (int64_t t = 1; t < taps.taps; ++t) {
      const int64_t at = t * count + i;
      sum =
          hn::MulAdd(hn::LoadU(d, taps.weights + at), hn::GatherIndex(d, src, hn::LoadU(di, taps.positions + at)), sum);
    }
    hn::StoreU(sum, d, dst + i);
  }
  for (; i < count; ++i) {
    float sum = 0;
    for (int64_t t = 0; t < taps.taps; ++t) sum += taps.weights[t * count + i] * src[taps.positions[t * count + i]];
    dst[i] = sum;
  }
}

}  // namespace
}  // namespace tutti::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::cpu {
HWY_EXPORT(weighted_rows);
HWY_EXPORT(weighted_elements);
namespace simd {

void weighted_rows(const float* src, const RowTaps& taps, float* dst, int64_t count) {
  HWY_DYNAMIC_DISPATCH(weighted_rows)(src, taps, dst, count);
}
void weighted_elements(const float* src, const ElementTaps& taps, float* dst, int64_t count) {
  HWY_DYNAMIC_DISPATCH(weighted_elements)(src, taps, dst, count);
}

}  // namespace simd
}  // namespace tutti::cpu
#endif
