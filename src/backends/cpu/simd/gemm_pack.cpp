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

constexpr int64_t kWidth = 2 * static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<float>()));

// Rows [begin, end) of one panel.
void pack_rows(const simd::MatrixView& b, int64_t columns, int64_t panel, int64_t begin, int64_t end, float* to) {
  const int64_t first = panel * kWidth, count = std::min(kWidth, columns - first);
  const float* from = b.data + first * b.column_stride;
  if (b.column_stride == 1 && count == kWidth) {
    for (int64_t k = begin; k < end; ++k) std::copy_n(from + k * b.row_stride, kWidth, to + k * kWidth);
    return;
  }
  for (int64_t j = 0; j < kWidth; ++j)
    for (int64_t k = begin; k < end; ++k)
      to[k * kWidth + j] = j < count ? from[k * b.row_stride + j * b.column_stride] : 0.0f;
}

// 64 rows at a time. Of a matrix that lies by rows, all panels' parts of them: going down one panel after the other
// would touch a page for each line that it reads. Of a transposed one, a panel after the other: its columns are read on
// and on, and the written slice stays in the first-level cache.
void pack_b(const simd::MatrixView& b, int64_t depth, int64_t columns, simd::PanelRange panels, float* packed) {
  constexpr int64_t kRows = 64;
  const int64_t together = b.column_stride == 1 ? panels.end - panels.begin : 1;
  for (int64_t group = panels.begin; group < panels.end; group += together)
    for (int64_t begin = 0; begin < depth; begin += kRows)
      for (int64_t p = group; p < group + together; ++p)
        pack_rows(b, columns, p, begin, std::min(depth, begin + kRows), packed + p * kWidth * depth);
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
