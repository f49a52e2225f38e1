#include "backends/cpu/kernels/quantize_dynamic.h"

#include <cmath>

#include "backends/cpu/simd/rows.h"

namespace tutti::cpu {
namespace {

constexpr double kScanCost = 0.15;  // nanoseconds per element

int64_t ranges(int64_t count) {
  const int64_t length = range_length(count, kScanCost);
  return (count + length - 1) / length;
}

// The least (or greatest) of the numbers, at most (least) 0: NaN does not count.
float bound(const float* src, int64_t count, simd::Reduction kind) {
  const float found = simd::reduce_row(kind, src, count);
  const bool least = kind == simd::Reduction::kMin;
  if (!std::isnan(found)) return least ? std::min(0.0f, found) : std::max(0.0f, found);
  float result = 0;
  for (int64_t i = 0; i < count; ++i) result = least ? std::min(result, src[i]) : std::max(result, src[i]);
  return result;
}

}  // namespace

// A pair of bounds for each range.
size_t DynamicQuantize::workspace() const { return static_cast<size_t>(2 * ranges(count)) * sizeof(float); }

simd::Quant8 DynamicQuantize::run(ThreadPool& threads, const float* src, float* workspace, uint8_t* dst) const {
  const int64_t length = range_length(count, kScanCost);
  split(threads, count, kScanCost, [&](int64_t begin, int64_t end) {
    float* pair = workspace + begin / length * 2;
    pair[0] = bound(src + begin, end - begin, simd::Reduction::kMin);
    pair[1] = bound(src + begin, end - begin, simd::Reduction::kMax);
  });
  float low = 0, high = 0;
  for (int64_t i = 0; i < ranges(count); ++i) {
    low = std::min(low, workspace[2 * i]);
    high = std::max(high, workspace[2 * i + 1]);
  }
  const float scale = (high == low ? 1.0f : high - low) / 255.0f;
  const auto zero = static_cast<int32_t>(std::nearbyint(std::clamp(-low / scale, 0.0f, 255.0f)));
  const simd::Quant8 q{scale, zero, false};
  if (dst != nullptr)
    split(threads, count, 0.3,
          [&](int64_t begin, int64_t end) { simd::quantize(q, src + begin, dst + begin, end - begin); });
  return q;
}

}  // namespace tutti::cpu
