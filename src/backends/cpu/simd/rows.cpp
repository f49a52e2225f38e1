#include "backends/cpu/simd/rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/rows.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "backends/cpu/simd/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::cpu::HWY_NAMESPACE {
namespace {

using simd::Columns;
using simd::NormRow;
using simd::Reduction;
using simd::RowStatistics;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// f(i, mask, full): whole vectors, then a part.
template <class F>
HWY_INLINE void for_vectors(int64_t count, F&& f) {
  const D d;
  const auto n = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + n <= count; i += n) f(i, n);
  if (i < count) f(i, count - i);
}
HWY_INLINE V get(const float* from, int64_t count) {
  const D d;
  if (HWY_LIKELY(count >= static_cast<int64_t>(hn::Lanes(d)))) return hn::LoadU(d, from);
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, from);
}
HWY_INLINE V get_or(const float* from, int64_t count, V other) {
  const D d;
  if (HWY_LIKELY(count >= static_cast<int64_t>(hn::Lanes(d)))) return hn::LoadU(d, from);
  const auto mask = hn::FirstN(d, static_cast<size_t>(count));
  return hn::IfThenElse(mask, hn::MaskedLoad(mask, d, from), other);
}
HWY_INLINE void set(V value, float* to, int64_t count) {
  const D d;
  if (HWY_LIKELY(count >= static_cast<int64_t>(hn::Lanes(d)))) return hn::StoreU(value, d, to);
  hn::BlendedStore(value, hn::FirstN(d, static_cast<size_t>(count)), d, to);
}

HWY_INLINE V max_nan(V x, V y) { return hn::IfThenElse(hn::IsNaN(x), x, hn::Max(x, y)); }
HWY_INLINE V min_nan(V x, V y) { return hn::IfThenElse(hn::IsNaN(x), x, hn::Min(x, y)); }

template <Reduction K>
HWY_INLINE V start() {
  const D d;
  if (K == Reduction::kMax) return hn::Set(d, -std::numeric_limits<float>::infinity());
  if (K == Reduction::kMin) return hn::Set(d, std::numeric_limits<float>::infinity());
  return hn::Zero(d);
}
template <Reduction K>
HWY_INLINE V step(V sum, V x) {
  if (K == Reduction::kMax) return max_nan(sum, x);
  if (K == Reduction::kMin) return min_nan(sum, x);
  if (K == Reduction::kSumSquare) return hn::MulAdd(x, x, sum);
  if (K == Reduction::kL1) return hn::Add(sum, hn::Abs(x));
  return hn::Add(sum, x);
}

template <Reduction K>
float fold(V value) {
  const D d;
  HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(value, d, lanes);
  double sum = lanes[0];
  for (size_t i = 1; i < hn::Lanes(d); ++i) {
    const float x = lanes[i];
    if (K == Reduction::kMax)
      sum = std::isnan(sum) || sum > x ? sum : x;
    else if (K == Reduction::kMin)
      sum = std::isnan(sum) || sum < x ? sum : x;
    else
      sum += x;
  }
  return static_cast<float>(sum);
}

// Blocks of 1024, whose sums add up in double: the error does not grow with the row.
template <Reduction K>
float reduce_one(const float* src, int64_t count) {
  const D d;
  constexpr int64_t kBlock = 1024;
  if (K == Reduction::kMax || K == Reduction::kMin) {
    V acc = start<K>();
    for_vectors(count, [&](int64_t i, int64_t n) { acc = step<K>(acc, get_or(src + i, n, start<K>())); });
    return fold<K>(acc);
  }
  double total = 0;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    V a = hn::Zero(d), b = hn::Zero(d);
    const int64_t length = std::min(kBlock, count - begin);
    const auto n = static_cast<int64_t>(hn::Lanes(d));
    int64_t i = 0;
    for (; i + 2 * n <= length; i += 2 * n) {
      a = step<K>(a, hn::LoadU(d, src + begin + i));
      b = step<K>(b, hn::LoadU(d, src + begin + i + n));
    }
    for (; i < length; i += n) a = step<K>(a, get(src + begin + i, length - i));
    total += fold<K>(hn::Add(a, b));
  }
  return static_cast<float>(total);
}

float reduce_row(Reduction kind, const float* src, int64_t count) {
  switch (kind) {
    case Reduction::kSum: return reduce_one<Reduction::kSum>(src, count);
    case Reduction::kMax: return reduce_one<Reduction::kMax>(src, count);
    case Reduction::kMin: return reduce_one<Reduction::kMin>(src, count);
    case Reduction::kSumSquare: return reduce_one<Reduction::kSumSquare>(src, count);
    case Reduction::kL1: return reduce_one<Reduction::kL1>(src, count);
  }
  return 0;
}

// One vector of columns; groups of 64 rows are summed apart.
template <Reduction K>
void reduce_stripes(const float* src, float* dst, const Columns& shape) {
  const D d;
  constexpr bool kSums = K != Reduction::kMax && K != Reduction::kMin;
  for_vectors(shape.width, [&](int64_t c, int64_t n) {
    V total = start<K>();
    for (int64_t begin = 0; begin < shape.count; begin += 64) {
      V part = start<K>();
      for (int64_t r = begin; r < std::min(shape.count, begin + 64); ++r)
        part = step<K>(part, get(src + r * shape.stride + c, n));
      total = kSums ? hn::Add(total, part) : step<K>(total, part);
    }
    set(total, dst + c, n);
  });
  (void)d;
}

void reduce_columns(Reduction kind, const float* src, float* dst, const Columns& shape) {
  switch (kind) {
    case Reduction::kSum: return reduce_stripes<Reduction::kSum>(src, dst, shape);
    case Reduction::kMax: return reduce_stripes<Reduction::kMax>(src, dst, shape);
    case Reduction::kMin: return reduce_stripes<Reduction::kMin>(src, dst, shape);
    case Reduction::kSumSquare: return reduce_stripes<Reduction::kSumSquare>(src, dst, shape);
    case Reduction::kL1: return reduce_stripes<Reduction::kL1>(src, dst, shape);
  }
}

void softmax_row(const float* src, float* dst, int64_t count, bool logarithm) {
  const D d;
  float top = reduce_one<Reduction::kMax>(src, count);
  // A row of -infinity only: exp(-inf - -inf) is NaN, as the definition has it.
  const V high = hn::Set(d, top);
  V sum = hn::Zero(d);
  for_vectors(count, [&](int64_t i, int64_t n) {
    const V shifted = hn::Sub(get_or(src + i, n, high), high);
    const V e = vector_exp(d, shifted);
    set(logarithm ? shifted : e, dst + i, n);
    sum = hn::Add(sum, n >= static_cast<int64_t>(hn::Lanes(d))
                           ? e
                           : hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(n)), e));
  });
  const float total = fold<Reduction::kSum>(sum);
  const V shift = hn::Set(d, logarithm ? std::log(total) : 1.0f / total);
  for_vectors(count, [&](int64_t i, int64_t n) {
    const V x = get(dst + i, n);
    set(logarithm ? hn::Sub(x, shift) : hn::Mul(x, shift), dst + i, n);
  });
}

void softmax_columns(const float* src, float* dst, const Columns& s, bool logarithm) {
  const D d;
  for_vectors(s.width, [&](int64_t c, int64_t n) {
    V high = start<Reduction::kMax>();
    for (int64_t r = 0; r < s.count; ++r) high = max_nan(high, get(src + r * s.stride + c, n));
    V sum = hn::Zero(d);
    for (int64_t r = 0; r < s.count; ++r) {
      const V shifted = hn::Sub(get(src + r * s.stride + c, n), high);
      const V e = vector_exp(d, shifted);
      set(logarithm ? shifted : e, dst + r * s.stride + c, n);
      sum = hn::Add(sum, e);
    }
    HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(sum, d, lanes);
    for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = logarithm ? std::log(lanes[i]) : 1.0f / lanes[i];
    const V shift = hn::Load(d, lanes);
    for (int64_t r = 0; r < s.count; ++r) {
      float* at = dst + r * s.stride + c;
      set(logarithm ? hn::Sub(get(at, n), shift) : hn::Mul(get(at, n), shift), at, n);
    }
  });
}

// The row that is normalised: src, or src + skip + skip_bias stored to sum or dst.
const float* add_skip(const NormRow& row) {
  if (row.skip == nullptr && row.skip_bias == nullptr) return row.src;
  float* to = row.sum ? row.sum : row.dst;
  for_vectors(row.count, [&](int64_t i, int64_t n) {
    V x = get(row.src + i, n);
    if (row.skip) x = hn::Add(x, get(row.skip + i, n));
    if (row.skip_bias) x = hn::Add(x, get(row.skip_bias + i, n));
    set(x, to + i, n);
  });
  return to;
}

RowStatistics normalize_row(const NormRow& row) {
  const D d;
  const float* src = add_skip(row);
  const auto count = static_cast<float>(row.count);
  const float mean = row.subtract_mean ? reduce_one<Reduction::kSum>(src, row.count) / count : 0.0f;
  const V center = hn::Set(d, mean);
  V squares = hn::Zero(d);
  // The second sweep takes differences, so that a large mean costs no digits.
  for_vectors(row.count, [&](int64_t i, int64_t n) {
    const V x = hn::Sub(get_or(src + i, n, center), center);
    squares = hn::MulAdd(x, x, squares);
  });
  const float inverse = 1.0f / std::sqrt(fold<Reduction::kSum>(squares) / count + row.epsilon);
  const V factor = hn::Set(d, inverse);
  for_vectors(row.count, [&](int64_t i, int64_t n) {
    V y = hn::Mul(hn::Sub(get(src + i, n), center), factor);
    if (row.scale) y = hn::Mul(y, get(row.scale + i, n));
    if (row.bias) y = hn::Add(y, get(row.bias + i, n));
    set(y, row.dst + i, n);
  });
  return {mean, inverse};
}

void affine_row(const float* src, float* dst, int64_t count, float scale, float shift) {
  const D d;
  const V a = hn::Set(d, scale), b = hn::Set(d, shift);
  for_vectors(count, [&](int64_t i, int64_t n) { set(hn::MulAdd(get(src + i, n), a, b), dst + i, n); });
}
void affine_columns(const float* src, float* dst, int64_t count, const float* scale, const float* shift) {
  for_vectors(count, [&](int64_t i, int64_t n) {
    set(hn::MulAdd(get(src + i, n), get(scale + i, n), get(shift + i, n)), dst + i, n);
  });
}
void max_into(const float* src, float* dst, int64_t count) {
  for_vectors(count, [&](int64_t i, int64_t n) { set(max_nan(get(dst + i, n), get(src + i, n)), dst + i, n); });
}
void add_into(const float* src, float* dst, int64_t count) {
  for_vectors(count, [&](int64_t i, int64_t n) { set(hn::Add(get(dst + i, n), get(src + i, n)), dst + i, n); });
}

}  // namespace
}  // namespace tutti::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::cpu {
HWY_EXPORT(softmax_row);
HWY_EXPORT(softmax_columns);
HWY_EXPORT(normalize_row);
HWY_EXPORT(affine_row);
HWY_EXPORT(affine_columns);
HWY_EXPORT(reduce_row);
HWY_EXPORT(reduce_columns);
HWY_EXPORT(max_into);
HWY_EXPORT(add_into);
namespace simd {
void softmax_row(const float* src, float* dst, int64_t n, bool log) {
  HWY_DYNAMIC_DISPATCH(softmax_row)(src, dst, n, log);
}
void softmax_columns(const float* src, float* dst, const Columns& s, bool log) {
  HWY_DYNAMIC_DISPATCH(softmax_columns)(src, dst, s, log);
}
RowStatistics normalize_row(const NormRow& row) { return HWY_DYNAMIC_DISPATCH(normalize_row)(row); }
void affine_row(const float* src, float* dst, int64_t n, float a, float b) {
  HWY_DYNAMIC_DISPATCH(affine_row)(src, dst, n, a, b);
}
void affine_columns(const float* src, float* dst, int64_t n, const float* a, const float* b) {
  HWY_DYNAMIC_DISPATCH(affine_columns)(src, dst, n, a, b);
}
float reduce_row(Reduction kind, const float* src, int64_t n) { return HWY_DYNAMIC_DISPATCH(reduce_row)(kind, src, n); }
void reduce_columns(Reduction kind, const float* src, float* dst, const Columns& s) {
  HWY_DYNAMIC_DISPATCH(reduce_columns)(kind, src, dst, s);
}
void max_into(const float* src, float* dst, int64_t n) { HWY_DYNAMIC_DISPATCH(max_into)(src, dst, n); }
void add_into(const float* src, float* dst, int64_t n) { HWY_DYNAMIC_DISPATCH(add_into)(src, dst, n); }
}  // namespace simd
}  // namespace tutti::cpu
#endif
