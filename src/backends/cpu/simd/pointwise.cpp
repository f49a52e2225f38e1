#include "backends/cpu/simd/pointwise.h"

#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/pointwise.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "backends/cpu/simd/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::cpu::HWY_NAMESPACE {
namespace {

using simd::Binary;
using simd::Operand;
using simd::Unary;
using simd::UnaryCall;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

template <class F>
HWY_INLINE void map(const float* src, float* dst, int64_t count, F&& f) {
  const D d;
  const auto n = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + n <= count; i += n) hn::StoreU(f(hn::LoadU(d, src + i)), d, dst + i);
  if (i < count) {
    const auto mask = hn::FirstN(d, static_cast<size_t>(count - i));
    hn::BlendedStore(f(hn::MaskedLoad(mask, d, src + i)), mask, d, dst + i);
  }
}

template <ops::Activation A>
void map_activation(const UnaryCall& call, const float* src, float* dst, int64_t count) {
  map(src, dst, count, [&](V x) { return vector_activation(D(), x, A, call.alpha, call.beta); });
}

void activation(const UnaryCall& call, const float* src, float* dst, int64_t count) {
  using A = ops::Activation;
  switch (call.activation) {
    case A::kNone: return map_activation<A::kNone>(call, src, dst, count);
    case A::kRelu: return map_activation<A::kRelu>(call, src, dst, count);
    case A::kClip: return map_activation<A::kClip>(call, src, dst, count);
    case A::kHardSwish: return map_activation<A::kHardSwish>(call, src, dst, count);
    case A::kHardSigmoid: return map_activation<A::kHardSigmoid>(call, src, dst, count);
    case A::kSigmoid: return map_activation<A::kSigmoid>(call, src, dst, count);
    case A::kSilu: return map_activation<A::kSilu>(call, src, dst, count);
    case A::kLeakyRelu: return map_activation<A::kLeakyRelu>(call, src, dst, count);
    case A::kGeluErf: return map_activation<A::kGeluErf>(call, src, dst, count);
    case A::kGeluTanh: return map_activation<A::kGeluTanh>(call, src, dst, count);
    case A::kTanh: return map_activation<A::kTanh>(call, src, dst, count);
    case A::kElu: return map_activation<A::kElu>(call, src, dst, count);
    case A::kQuickGelu: return map_activation<A::kQuickGelu>(call, src, dst, count);
  }
}

void unary(const UnaryCall& call, const float* src, float* dst, int64_t count) {
  const D d;
  switch (call.op) {
    case Unary::kActivation: return activation(call, src, dst, count);
    case Unary::kErf: return map(src, dst, count, [&](V x) { return vector_erf(d, x); });
    case Unary::kExp: return map(src, dst, count, [&](V x) { return vector_exp(d, x); });
    case Unary::kSqrt: return map(src, dst, count, [&](V x) { return hn::Sqrt(x); });
    case Unary::kReciprocal: return map(src, dst, count, [&](V x) { return hn::Div(hn::Set(d, 1.0f), x); });
    case Unary::kNeg: return map(src, dst, count, [&](V x) { return hn::Neg(x); });
    case Unary::kAbs: return map(src, dst, count, [&](V x) { return hn::Abs(x); });
    case Unary::kFloor: return map(src, dst, count, [&](V x) { return hn::Floor(x); });
    case Unary::kCeil: return map(src, dst, count, [&](V x) { return hn::Ceil(x); });
    case Unary::kRound: return map(src, dst, count, [&](V x) { return hn::Round(x); });
    case Unary::kSquare: return map(src, dst, count, [&](V x) { return hn::Mul(x, x); });
  }
}

template <class F>
HWY_INLINE void combine(Operand a, Operand b, float* dst, int64_t count, F&& f) {
  const D d;
  if (a.single && b.single) {
    const V y = f(hn::Set(d, *a.data), hn::Set(d, *b.data));
    return map(dst, dst, count, [&](V) { return y; });
  }
  if (b.single) {
    const V y = hn::Set(d, *b.data);
    return map(a.data, dst, count, [&](V x) { return f(x, y); });
  }
  if (a.single) {
    const V x = hn::Set(d, *a.data);
    return map(b.data, dst, count, [&](V y) { return f(x, y); });
  }
  const auto n = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + n <= count; i += n) hn::StoreU(f(hn::LoadU(d, a.data + i), hn::LoadU(d, b.data + i)), d, dst + i);
  if (i < count) {
    const auto mask = hn::FirstN(d, static_cast<size_t>(count - i));
    hn::BlendedStore(f(hn::MaskedLoad(mask, d, a.data + i), hn::MaskedLoad(mask, d, b.data + i)), mask, d, dst + i);
  }
}

// NaN from either side wins.
HWY_INLINE V max_of(V x, V y) { return hn::IfThenElse(hn::IsNaN(x), x, hn::Max(x, y)); }
HWY_INLINE V min_of(V x, V y) { return hn::IfThenElse(hn::IsNaN(x), x, hn::Min(x, y)); }

void binary(Binary op, Operand a, Operand b, float* dst, int64_t count) {
  switch (op) {
    case Binary::kAdd: return combine(a, b, dst, count, [](V x, V y) { return hn::Add(x, y); });
    case Binary::kSub: return combine(a, b, dst, count, [](V x, V y) { return hn::Sub(x, y); });
    case Binary::kMul: return combine(a, b, dst, count, [](V x, V y) { return hn::Mul(x, y); });
    case Binary::kDiv: return combine(a, b, dst, count, [](V x, V y) { return hn::Div(x, y); });
    case Binary::kMax: return combine(a, b, dst, count, [](V x, V y) { return max_of(x, y); });
    case Binary::kMin: return combine(a, b, dst, count, [](V x, V y) { return min_of(x, y); });
  }
}

}  // namespace
}  // namespace tutti::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::cpu {
HWY_EXPORT(unary);
HWY_EXPORT(binary);
namespace simd {
void unary(const UnaryCall& call, const float* src, float* dst, int64_t count) {
  HWY_DYNAMIC_DISPATCH(unary)(call, src, dst, count);
}
void binary(Binary op, Operand a, Operand b, float* dst, int64_t count) {
  HWY_DYNAMIC_DISPATCH(binary)(op, a, b, dst, count);
}
}  // namespace simd
}  // namespace tutti::cpu
#endif
