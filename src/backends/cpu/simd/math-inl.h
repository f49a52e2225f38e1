// Vector exp, erf, tanh and what is made of them, within about 3 ulp in float32. Compiled once per instruction set:
// included after foreach_target.h, outside of any namespace.
#if defined(TUTTI_CPU_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_CPU_MATH_INL_H
#undef TUTTI_CPU_MATH_INL_H
#else
#define TUTTI_CPU_MATH_INL_H
#endif

#include "hwy/highway.h"
#include "ops/fused.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// x = n ln2 + r with r in [-ln2/2, ln2/2]: e^r, and n in the low bits of an integer (1.5 * 2^23 has no fraction bits).
template <class D>
struct ExpParts {
  hn::Vec<D> power;
  hn::Vec<hn::RebindToSigned<D>> n;
};

template <class D, class V>
HWY_INLINE ExpParts<D> exp_parts(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V shift = hn::Set(d, 12582912.0f);
  const V shifted = hn::MulAdd(x, hn::Set(d, 1.44269504f), shift);
  const V n = hn::Sub(shifted, shift);
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  V p = hn::Set(d, 1.0f / 720);
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f / 120));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f / 24));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f / 6));
  p = hn::MulAdd(p, r, hn::Set(d, 0.5f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
  return {p, hn::BitCast(di, shifted)};
}

// e^x for x in [-86, 87]; anything for NaN.
template <class D, class V>
HWY_INLINE V exp_within(D d, V x) {
  const hn::RebindToSigned<D> di;
  const ExpParts<D> e = exp_parts(d, x);
  return hn::BitCast(d, hn::Add(hn::BitCast(di, e.power), hn::ShiftLeft<23>(e.n)));
}

// NaN stays NaN; 0 below -103.98, infinity above 88.73.
template <class D, class V>
HWY_INLINE V vector_exp(D d, V x) {
  const hn::RebindToSigned<D> di;
  const ExpParts<D> e = exp_parts(d, hn::Min(hn::Set(d, 89.5f), hn::Max(hn::Set(d, -105.0f), x)));
  // 2^n in two factors, since n reaches -152 and 129.
  const auto whole = hn::Sub(e.n, hn::Set(di, 0x4b400000));
  const auto half = hn::ShiftRight<1>(whole);
  const auto bias = hn::Set(di, 127);
  const V a = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(half, bias)));
  const V b = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(hn::Sub(whole, half), bias)));
  const V result = hn::Mul(hn::Mul(e.power, a), b);
  return hn::IfThenElse(hn::IsNaN(x), x, result);
}

// Anything for NaN; not below 1.6e-38, so that nothing gets subnormal.
template <class D, class V>
HWY_INLINE V sigmoid_of_number(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V t = hn::Min(hn::Set(d, 86.0f), hn::Max(hn::Set(d, -87.0f), x));
  return hn::Div(one, hn::Add(one, exp_within(d, hn::Neg(t))));
}

template <class D, class V>
HWY_INLINE V vector_sigmoid(D d, V x) {
  return hn::IfThenElse(hn::IsNaN(x), x, sigmoid_of_number(d, x));
}

// An odd polynomial near zero, where 1 - 2/(e^2x + 1) would cancel.
template <class D, class V>
HWY_INLINE V vector_tanh(D d, V x) {
  const V one = hn::Set(d, 1.0f), two = hn::Set(d, 2.0f);
  const V magnitude = hn::Abs(x);
  const V e = exp_within(d, hn::Mul(two, hn::Min(hn::Set(d, 20.0f), magnitude)));
  const V large = hn::Sub(one, hn::Div(two, hn::Add(e, one)));
  const V z = hn::Mul(x, x);
  V p = hn::Set(d, -5.70498872745e-3f);
  p = hn::MulAdd(p, z, hn::Set(d, 2.06390887954e-2f));
  p = hn::MulAdd(p, z, hn::Set(d, -5.37397155531e-2f));
  p = hn::MulAdd(p, z, hn::Set(d, 1.33314422036e-1f));
  p = hn::MulAdd(p, z, hn::Set(d, -3.33332819422e-1f));
  const V small = hn::MulAdd(hn::Mul(p, z), x, x);
  const V result = hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0.625f)), small, hn::CopySign(large, x));
  return hn::IfThenElse(hn::IsNaN(x), x, result);
}

// x * P(x^2) below 1; 1 - exp(Q(x)) above, Q fitted to log(erfc) on [0.95, 4.1]: 2.5 ulp at most.
template <class D, class V>
HWY_INLINE V vector_erf(D d, V x) {
  const V magnitude = hn::Abs(x);
  const V z = hn::Mul(x, x);
  V p = hn::Set(d, -9.67359088e-06f);
  for (float c :
       {0.000112682539f, -0.000848439655f, 0.00522105341f, -0.0268654383f, 0.112837826f, -0.376126385f, 1.12837917f})
    p = hn::MulAdd(p, z, hn::Set(d, c));
  const V a = hn::Min(hn::Set(d, 4.0f), magnitude);
  V q = hn::Set(d, -6.52470163e-08f);
  for (float c : {3.05984489e-06f, -5.9492993e-05f, 0.000668777669f, -0.00500014596f, 0.0269402731f, -0.110802169f,
                  -0.63120282f, -1.13053597f, 0.000383031366f})
    q = hn::MulAdd(q, a, hn::Set(d, c));
  const V large = hn::CopySign(hn::Sub(hn::Set(d, 1.0f), exp_within(d, q)), x);
  const V result = hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 1.0f)), hn::Mul(x, p), large);
  return hn::IfThenElse(hn::IsNaN(x), x, result);
}

template <class D, class V>
HWY_INLINE V vector_gelu_tanh(D d, V x) {
  const V cube = hn::Mul(hn::Mul(x, x), x);
  const V inner = hn::Mul(hn::Set(d, 0.7978845608f), hn::MulAdd(hn::Set(d, 0.044715f), cube, x));
  return hn::Mul(hn::Mul(hn::Set(d, 0.5f), x), hn::Add(hn::Set(d, 1.0f), vector_tanh(d, inner)));
}

template <class D, class V>
HWY_INLINE V vector_gelu_erf(D d, V x) {
  const V e = vector_erf(d, hn::Mul(x, hn::Set(d, 0.70710678118f)));
  return hn::Mul(hn::Mul(hn::Set(d, 0.5f), x), hn::Add(hn::Set(d, 1.0f), e));
}

// max(low, min(high, x)) that keeps NaN: x86 takes the second operand when one is NaN.
template <class V>
HWY_INLINE V clamp_keeping_nan(V low, V high, V x) {
  return hn::Max(low, hn::Min(high, x));
}

template <class D, class V>
HWY_INLINE V vector_hard_sigmoid(D d, V x, float alpha, float beta) {
  const V line = hn::MulAdd(hn::Set(d, alpha), x, hn::Set(d, beta));
  return clamp_keeping_nan(hn::Zero(d), hn::Set(d, 1.0f), line);
}

template <class D, class V>
HWY_INLINE V vector_activation(D d, V x, ops::Activation activation, float alpha, float beta) {
  using ops::Activation;
  switch (activation) {
    case Activation::kNone: return x;
    case Activation::kRelu: return hn::Max(hn::Zero(d), x);
    case Activation::kClip: return clamp_keeping_nan(hn::Set(d, alpha), hn::Set(d, beta), x);
    case Activation::kHardSwish: return hn::Mul(x, vector_hard_sigmoid(d, x, 1.0f / 6, 0.5f));
    case Activation::kHardSigmoid: return vector_hard_sigmoid(d, x, alpha, beta);
    case Activation::kSigmoid: return vector_sigmoid(d, x);
    case Activation::kSilu: return hn::Mul(x, sigmoid_of_number(d, x));
    case Activation::kLeakyRelu: return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(x, hn::Set(d, alpha)), x);
    case Activation::kGeluErf: return vector_gelu_erf(d, x);
    case Activation::kGeluTanh: return vector_gelu_tanh(d, x);
    case Activation::kTanh: return vector_tanh(d, x);
    case Activation::kElu:
      return hn::IfThenElse(hn::Lt(x, hn::Zero(d)),
                            hn::Mul(hn::Set(d, alpha), hn::Sub(vector_exp(d, x), hn::Set(d, 1.0f))), x);
    case Activation::kQuickGelu: return hn::Mul(x, sigmoid_of_number(d, hn::Mul(hn::Set(d, alpha), x)));
  }
  return x;
}

}  // namespace tutti::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
