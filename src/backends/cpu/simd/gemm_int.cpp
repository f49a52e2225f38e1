#include "backends/cpu/simd/gemm_int.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/gemm_int.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using simd::ByteMatrix;
using simd::IntBlock;
using D = hn::ScalableTag<int32_t>;
using V = hn::Vec<D>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
constexpr int64_t kWidth = 2 * kLanes;  // columns of a panel
constexpr int64_t kTileRows = 4;

// Two neighbouring depths of a row, as one element to broadcast.
HWY_INLINE int32_t pair_at(const int16_t* row, int64_t pair) {
  int32_t value;
  std::memcpy(&value, row + 2 * pair, sizeof value);
  return value;
}

#if HWY_TARGET == HWY_SCALAR
// One lane is one pair.
HWY_INLINE V load_pairs(const int16_t* from) { return hn::Set(D(), pair_at(from, 0)); }
HWY_INLINE V add_products(V sum, V a, V b) {
  int16_t x[2], y[2];
  const int32_t in_a = hn::GetLane(a), in_b = hn::GetLane(b);
  std::memcpy(x, &in_a, sizeof x);
  std::memcpy(y, &in_b, sizeof y);
  return hn::Add(sum, hn::Set(D(), x[0] * y[0] + x[1] * y[1]));
}
#else
using D16 = hn::Repartition<int16_t, D>;
HWY_INLINE V load_pairs(const int16_t* from) { return hn::BitCast(D(), hn::LoadU(D16(), from)); }
HWY_INLINE V add_products(V sum, V a, V b) {
  const D d;
  const D16 d16;
  V other = hn::Zero(d);
  sum = hn::ReorderWidenMulAccumulate(d, hn::BitCast(d16, a), hn::BitCast(d16, b), sum, other);
  return hn::RearrangeToOddPlusEven(sum, other);
}
#endif

HWY_INLINE void put(V value, int32_t* to, int64_t count) {
  const D d;
  if (HWY_LIKELY(count >= kLanes)) return hn::StoreU(value, d, to);
  if (count > 0) hn::BlendedStore(value, hn::FirstN(d, static_cast<size_t>(count)), d, to);
}

template <int MR>
void tile(const IntBlock& block, int64_t row, int64_t column, const int16_t* panel) {
  const D d;
  const int64_t depth = simd::even_depth(block.depth), pairs = depth / 2;
  const int16_t* a = block.a + row * depth;
  V s00 = hn::Zero(d), s01 = s00, s10 = s00, s11 = s00, s20 = s00, s21 = s00, s30 = s00, s31 = s00;
  for (int64_t p = 0; p < pairs; ++p) {
    const V b0 = load_pairs(panel + p * 2 * kWidth);
    const V b1 = load_pairs(panel + p * 2 * kWidth + kWidth);
    const V a0 = hn::Set(d, pair_at(a, p));
    s00 = add_products(s00, a0, b0);
    s01 = add_products(s01, a0, b1);
    if constexpr (MR > 1) {
      const V a1 = hn::Set(d, pair_at(a + depth, p));
      s10 = add_products(s10, a1, b0);
      s11 = add_products(s11, a1, b1);
    }
    if constexpr (MR > 2) {
      const V a2 = hn::Set(d, pair_at(a + 2 * depth, p));
      s20 = add_products(s20, a2, b0);
      s21 = add_products(s21, a2, b1);
    }
    if constexpr (MR > 3) {
      const V a3 = hn::Set(d, pair_at(a + 3 * depth, p));
      s30 = add_products(s30, a3, b0);
      s31 = add_products(s31, a3, b1);
    }
  }
  const int64_t count = block.column_end - column;
  int32_t* to = block.c + row * block.c_stride + column;
  put(s00, to, count), put(s01, to + kLanes, count - kLanes);
  if constexpr (MR > 1) put(s10, to + block.c_stride, count), put(s11, to + block.c_stride + kLanes, count - kLanes);
  if constexpr (MR > 2)
    put(s20, to + 2 * block.c_stride, count), put(s21, to + 2 * block.c_stride + kLanes, count - kLanes);
  if constexpr (MR > 3)
    put(s30, to + 3 * block.c_stride, count), put(s31, to + 3 * block.c_stride + kLanes, count - kLanes);
}

void gemm_ints(const IntBlock& block) {
  const int64_t depth = simd::even_depth(block.depth);
  for (int64_t column = block.column_begin; column < block.column_end; column += kWidth) {
    const int16_t* panel = block.packed_b + column * depth;
    for (int64_t row = 0; row < block.rows; row += kTileRows) {
      switch (std::min(kTileRows, block.rows - row)) {
        case 1: tile<1>(block, row, column, panel); break;
        case 2: tile<2>(block, row, column, panel); break;
        case 3: tile<3>(block, row, column, panel); break;
        default: tile<4>(block, row, column, panel); break;
      }
    }
  }
}

template <class T>
void pack_as(const ByteMatrix& b, int64_t depth, int64_t columns, simd::IntPanels panels, int16_t* packed) {
  const T* data = static_cast<const T*>(b.data);
  const int64_t even = simd::even_depth(depth);
  for (int64_t p = panels.begin; p < panels.end; ++p) {
    int16_t* to = packed + p * kWidth * even;
    for (int64_t j = 0; j < kWidth; ++j) {
      const int64_t column = p * kWidth + j;
      if (column >= columns) {
        for (int64_t k = 0; k < even; ++k) to[(k / 2 * kWidth + j) * 2 + k % 2] = 0;
        continue;
      }
      const T* from = data + column * b.column_stride;
      const int32_t zero = b.zeros ? b.zeros[column * b.zero_step] : 0;
      for (int64_t k = 0; k < depth; ++k)
        to[(k / 2 * kWidth + j) * 2 + k % 2] = static_cast<int16_t>(from[k * b.row_stride] - zero);
      if (depth < even) to[(depth / 2 * kWidth + j) * 2 + 1] = 0;
    }
  }
}

void pack_ints(const ByteMatrix& b, int64_t depth, int64_t columns, simd::IntPanels panels, int16_t* packed) {
  if (b.is_signed)
    pack_as<int8_t>(b, depth, columns, panels, packed);
  else
    pack_as<uint8_t>(b, depth, columns, panels, packed);
}

int64_t int_panel_width() { return 2 * static_cast<int64_t>(hn::Lanes(D())); }

}  // namespace
}  // namespace tutti::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::cpu {
HWY_EXPORT(gemm_ints);
HWY_EXPORT(pack_ints);
HWY_EXPORT(int_panel_width);
namespace simd {

void gemm_ints(const IntBlock& block) { HWY_DYNAMIC_DISPATCH(gemm_ints)(block); }
void pack_ints(const ByteMatrix& b, int64_t depth, int64_t columns, IntPanels panels, int16_t* packed) {
  HWY_DYNAMIC_DISPATCH(pack_ints)(b, depth, columns, panels, packed);
}
int64_t int_panel_width() { return HWY_DYNAMIC_DISPATCH(int_panel_width)(); }

}  // namespace simd
}  // namespace tutti::cpu
#endif
