// Operations along rows or columns of float32 matrices, for one thread: softmax, normalisation, sums. Sums run in a
// fixed order: several lanes side by side, folded at the end, whatever else is computed with them.
#pragma once

#include <cstdint>

namespace tutti::cpu::simd {

void softmax_row(const float* src, float* dst, int64_t count, bool logarithm);
// `count` elements `stride` apart, for `width` neighbouring columns at once.
struct Columns {
  int64_t count = 0, stride = 0, width = 0;
};
void softmax_columns(const float* src, float* dst, const Columns& shape, bool logarithm);

struct NormRow {
  int64_t count = 0;
  const float* src = nullptr;
  const float* skip = nullptr;  // added to src first
  const float* skip_bias = nullptr;
  float* sum = nullptr;          // src + skip + skip_bias, when wanted
  const float* scale = nullptr;  // per element; null: one
  const float* bias = nullptr;
  bool subtract_mean = true;  // false: root mean square
  float epsilon = 0;
  float* dst = nullptr;  // may be src
};
struct RowStatistics {
  float mean, inverse_deviation;
};
RowStatistics normalize_row(const NormRow& row);

// dst = src * scale + shift
void affine_row(const float* src, float* dst, int64_t count, float scale, float shift);
// The same with a factor and a shift per element.
void affine_columns(const float* src, float* dst, int64_t count, const float* scale, const float* shift);

enum class Reduction : uint8_t { kSum, kMax, kMin, kSumSquare, kL1 };
float reduce_row(Reduction kind, const float* src, int64_t count);
// dst[c] over `count` rows `stride` apart, of `width` columns.
void reduce_columns(Reduction kind, const float* src, float* dst, const Columns& shape);

// dst = max(dst, src), keeping NaN; dst += src.
void max_into(const float* src, float* dst, int64_t count);
void add_into(const float* src, float* dst, int64_t count);

}  // namespace tutti::cpu::simd
