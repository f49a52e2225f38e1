// Lays out the right side of a product in panels.
#include <algorithm>

#include "backends/cpu/simd/gemm.h"
#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/gemm_pack.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

void pack_b(const simd::MatrixView& b, int64_t depth, int64_t columns, simd::PanelRange panels, float* packed) {
  constexpr int64_t width = 2 * static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<float>()));
  for (int64_t p = panels.begin; p < panels.end; ++p) {
    const int64_t first = p * width, count = std::min(width, columns - first);
    float* to = packed + first * depth;
    const float* from = b.data + first * b.column_stride;
    if (b.column_stride == 1) {
      for (int64_t k = 0; k < depth; ++k)
        for (int64_t j = 0; j < width; ++j) to[k * width + j] = j < count ? from[k * b.row_stride + j] : 0.0f;
    } else {
      // 64 deep at a time: one source row per column, and the written panel slice stays in the first-level cache.
      for (int64_t begin = 0; begin < depth; begin += 64)
        for (int64_t j = 0; j < width; ++j)
          for (int64_t k = begin; k < std::min(depth, begin + 64); ++k)
            to[k * width + j] = j < count ? from[k * b.row_stride + j * b.column_stride] : 0.0f;
    }
  }
}

}  // namespace
}  // namespace tutti::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::cpu {
HWY_EXPORT(pack_b);
namespace simd {
void pack_b(const MatrixView& b, int64_t depth, int64_t columns, PanelRange panels, float* packed) {
  HWY_DYNAMIC_DISPATCH(pack_b)(b, depth, columns, panels, packed);
}
}  // namespace simd
}  // namespace tutti::cpu
#endif
