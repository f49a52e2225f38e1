// Vectors of floats that may be the last, incomplete one of a row. Compiled once per instruction set: included after
// foreach_target.h, outside of any namespace.
#if defined(TUTTI_CPU_LANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_CPU_LANES_INL_H
#undef TUTTI_CPU_LANES_INL_H
#else
#define TUTTI_CPU_LANES_INL_H
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

// The first `count` elements, or as many as a vector has; the rest is 0.
HWY_INLINE V get(const float* from, int64_t count) {
  const D d;
  if (HWY_LIKELY(count >= kLanes)) return hn::LoadU(d, from);
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, from);
}
HWY_INLINE void set(V value, float* to, int64_t count) {
  const D d;
  if (HWY_LIKELY(count >= kLanes)) return hn::StoreU(value, d, to);
  hn::BlendedStore(value, hn::FirstN(d, static_cast<size_t>(count)), d, to);
}

}  // namespace tutti::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
