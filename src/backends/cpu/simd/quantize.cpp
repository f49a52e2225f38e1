#include "backends/cpu/simd/quantize.h"

#include <algorithm>
#include <cmath>

#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/quantize.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using simd::Quant8;
using D = hn::ScalableTag<float>;
using DI = hn::RebindToSigned<D>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

float lowest(const Quant8& q) { return static_cast<float>((q.is_signed ? -128 : 0) - q.zero); }
float highest(const Quant8& q) { return static_cast<float>((q.is_signed ? 127 : 255) - q.zero); }

template <class T>
void quantize_as(const Quant8& q, const float* src, T* dst, int64_t count) {
  const D d;
  const DI di;
  const hn::Rebind<T, D> d8;
  const auto scale = hn::Set(d, q.scale), low = hn::Set(d, lowest(q)), high = hn::Set(d, highest(q));
  const auto zero = hn::Set(di, q.zero);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const auto x = hn::Div(hn::LoadU(d, src + i), scale);
    const auto rounded = hn::Min(hn::Max(hn::Round(hn::IfThenElseZero(hn::Eq(x, x), x)), low), high);
    hn::StoreU(hn::DemoteTo(d8, hn::Add(hn::ConvertTo(di, rounded), zero)), d8, dst + i);
  }
  for (; i < count; ++i) {
    const float x = src[i] / q.scale;
    const float rounded = std::min(std::max(std::isnan(x) ? 0.0f : std::nearbyint(x), lowest(q)), highest(q));
    dst[i] = static_cast<T>(static_cast<int32_t>(rounded) + q.zero);
  }
}

void quantize(const Quant8& q, const float* src, void* dst, int64_t count) {
  if (q.is_signed)
    quantize_as(q, src, static_cast<int8_t*>(dst), count);
  else
    quantize_as(q, src, static_cast<uint8_t*>(dst), count);
}

template <class T>
void dequantize_as(const Quant8& q, const T* src, float* dst, int64_t count) {
  const D d;
  const DI di;
  const hn::Rebind<T, D> d8;
  const auto scale = hn::Set(d, q.scale);
  const auto zero = hn::Set(di, q.zero);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const auto x = hn::Sub(hn::PromoteTo(di, hn::LoadU(d8, src + i)), zero);
    hn::StoreU(hn::Mul(hn::ConvertTo(d, x), scale), d, dst + i);
  }
  for (; i < count; ++i) dst[i] = static_cast<float>(static_cast<int32_t>(src[i]) - q.zero) * q.scale;
}

void dequantize(const Quant8& q, const void* src, float* dst, int64_t count) {
  if (q.is_signed)
    dequantize_as(q, static_cast<const int8_t*>(src), dst, count);
  else
    dequantize_as(q, static_cast<const uint8_t*>(src), dst, count);
}

template <class T>
void center_as(const Quant8& q, const T* src, int16_t* dst, int64_t count) {
  const hn::ScalableTag<int16_t> d16;
  const hn::Rebind<T, decltype(d16)> d8;
  const auto n = static_cast<int64_t>(hn::Lanes(d16));
  const auto zero = hn::Set(d16, static_cast<int16_t>(q.zero));
  int64_t i = 0;
  for (; i + n <= count; i += n) hn::StoreU(hn::Sub(hn::PromoteTo(d16, hn::LoadU(d8, src + i)), zero), d16, dst + i);
  for (; i < count; ++i) dst[i] = static_cast<int16_t>(static_cast<int32_t>(src[i]) - q.zero);
}

void center(const Quant8& q, const void* src, int16_t* dst, int64_t count) {
  if (q.is_signed)
    center_as(q, static_cast<const int8_t*>(src), dst, count);
  else
    center_as(q, static_cast<const uint8_t*>(src), dst, count);
}

}  // namespace
}  // namespace tutti::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::cpu {
HWY_EXPORT(quantize);
HWY_EXPORT(dequantize);
HWY_EXPORT(center);
namespace simd {

void quantize(const Quant8& q, const float* src, void* dst, int64_t count) {
  HWY_DYNAMIC_DISPATCH(quantize)(q, src, dst, count);
}
void dequantize(const Quant8& q, const void* src, float* dst, int64_t count) {
  HWY_DYNAMIC_DISPATCH(dequantize)(q, src, dst, count);
}
void center(const Quant8& q, const void* src, int16_t* dst, int64_t count) {
  HWY_DYNAMIC_DISPATCH(center)(q, src, dst, count);
}

}  // namespace simd
}  // namespace tutti::cpu
#endif
