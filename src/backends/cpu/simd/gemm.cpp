#include "backends/cpu/simd/gemm.h"

#include <algorithm>
#include <limits>

#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/gemm.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "backends/cpu/simd/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::cpu::HWY_NAMESPACE {
namespace {

using ops::Activation;
using simd::Epilogue;
using simd::GemmBlock;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
// 2 vectors wide. 12 sums of 16 vector registers, or 24 of 32: the rest hold the panel's two vectors and the broadcast
// element.
#if HWY_TARGET <= HWY_AVX3
constexpr int64_t kTileRows = 12;
#else
constexpr int64_t kTileRows = 6;
#endif
// Depth of one pass: a panel slice of 24 KiB (AVX2) stays in the first-level cache while all rows of the block go by.
constexpr int64_t kDepthBlock = 384;

// A run of channels within one tap.
struct Span {
  int64_t tap, begin, count;
};

struct Pass {
  const GemmBlock* block;
  const Span* spans;
  int64_t span_count;
  bool first, last;
  // The activation as a clamp, applied while results are in registers; others follow in a second sweep.
  float low, high;
  bool simple;
};

template <int NV>
struct Lanes {
  // Loads and stores `count` columns of up to NV vectors.
  static HWY_INLINE V load(const float* from, int64_t count, int v) {
    const D d;
    const int64_t n = static_cast<int64_t>(hn::Lanes(d)), left = count - v * n;
    if (left >= n) return hn::LoadU(d, from + v * n);
    if (left <= 0) return hn::Zero(d);
    return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(left)), d, from + v * n);
  }
  static HWY_INLINE void store(V value, float* to, int64_t count, int v) {
    const D d;
    const int64_t n = static_cast<int64_t>(hn::Lanes(d)), left = count - v * n;
    if (left >= n) return hn::StoreU(value, d, to + v * n);
    if (left > 0) hn::BlendedStore(value, hn::FirstN(d, static_cast<size_t>(left)), d, to + v * n);
  }
};

HWY_INLINE V finish_simple(const Pass& pass, V sum, V bias, V residual) {
  const D d;
  const Epilogue& e = pass.block->epilogue;
  V y = e.scale == 1 ? sum : hn::Mul(sum, hn::Set(d, e.scale));
  if (e.bias != nullptr) y = hn::Add(y, bias);
  if (e.residual != nullptr && (e.residual_first || e.activation == Activation::kNone)) y = hn::Add(y, residual);
  y = clamp_keeping_nan(hn::Set(d, pass.low), hn::Set(d, pass.high), y);
  if (pass.simple && e.residual != nullptr && !e.residual_first && e.activation != Activation::kNone)
    y = hn::Add(y, residual);
  return y;
}

// Where a row of a tile goes, and how many of its columns exist.
struct Place {
  int64_t row, column, count;
};

// The general case: a last panel that is not full.
template <int NV>
HWY_NOINLINE void put_part(const Pass& pass, Place at, V s0, V s1) {
  const GemmBlock& b = *pass.block;
  float* to = b.c + at.row * b.c_stride + at.column;
  if (!pass.first) {
    s0 = hn::Add(Lanes<NV>::load(to, at.count, 0), s0);
    if (NV > 1) s1 = hn::Add(Lanes<NV>::load(to, at.count, 1), s1);
  }
  if (pass.last) {
    const D d;
    const Epilogue& e = b.epilogue;
    const float* residual = e.residual == nullptr ? nullptr : e.residual + at.row * e.residual_stride + at.column;
    const V zero = hn::Zero(d);
    s0 = finish_simple(pass, s0, e.bias ? Lanes<NV>::load(e.bias + at.column, at.count, 0) : zero,
                       residual ? Lanes<NV>::load(residual, at.count, 0) : zero);
    if (NV > 1)
      s1 = finish_simple(pass, s1, e.bias ? Lanes<NV>::load(e.bias + at.column, at.count, 1) : zero,
                         residual ? Lanes<NV>::load(residual, at.count, 1) : zero);
  }
  Lanes<NV>::store(s0, to, at.count, 0);
  if (NV > 1) Lanes<NV>::store(s1, to, at.count, 1);
}

// NV whole vectors: no masks.
template <int NV>
HWY_INLINE void put_whole(const Pass& pass, Place at, V s0, V s1) {
  const D d;
  constexpr int64_t n = static_cast<int64_t>(hn::MaxLanes(D()));
  const GemmBlock& b = *pass.block;
  float* to = b.c + at.row * b.c_stride + at.column;
  if (!pass.first) {
    s0 = hn::Add(hn::LoadU(d, to), s0);
    if (NV > 1) s1 = hn::Add(hn::LoadU(d, to + n), s1);
  }
  if (pass.last) {
    const Epilogue& e = b.epilogue;
    const V zero = hn::Zero(d);
    V b0 = zero, b1 = zero, r0 = zero, r1 = zero;
    if (e.bias != nullptr) {
      b0 = hn::LoadU(d, e.bias + at.column);
      if (NV > 1) b1 = hn::LoadU(d, e.bias + at.column + n);
    }
    if (e.residual != nullptr) {
      const float* residual = e.residual + at.row * e.residual_stride + at.column;
      r0 = hn::LoadU(d, residual);
      if (NV > 1) r1 = hn::LoadU(d, residual + n);
    }
    s0 = finish_simple(pass, s0, b0, r0);
    if (NV > 1) s1 = finish_simple(pass, s1, b1, r1);
  }
  hn::StoreU(s0, d, to);
  if (NV > 1) hn::StoreU(s1, d, to + n);
}

#define TUTTI_ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)

// MR rows by NV vectors of columns. The sums are separate variables, so that each gets a register.
template <int MR, int NV>
HWY_NOINLINE void tile(const Pass& pass, int64_t row, int64_t column, int64_t count, const float* panel) {
  const D d;
  const GemmBlock& block = *pass.block;
  constexpr int64_t n = static_cast<int64_t>(hn::MaxLanes(D()));
#define TUTTI_DECLARE(i) V s##i##0 = hn::Zero(d), s##i##1 = hn::Zero(d);
  TUTTI_ROWS(TUTTI_DECLARE)
#undef TUTTI_DECLARE
  for (int64_t s = 0; s < pass.span_count; ++s) {
    const Span span = pass.spans[s];
    const float* const* rows = block.a + span.tap * block.rows + row;
#define TUTTI_ROW(i) [[maybe_unused]] const float* a##i = i < MR ? rows[i < MR ? i : 0] + span.begin : nullptr;
    TUTTI_ROWS(TUTTI_ROW)
#undef TUTTI_ROW
    for (int64_t k = 0; k < span.count; ++k) {
      const V b0 = hn::LoadU(d, panel);
      const V b1 = NV > 1 ? hn::LoadU(d, panel + n) : b0;
      panel += 2 * n;
#define TUTTI_STEP(i)                                 \
  if constexpr (i < MR) {                             \
    const V x = hn::Set(d, a##i[k]);                  \
    s##i##0 = hn::MulAdd(x, b0, s##i##0);             \
    if (NV > 1) s##i##1 = hn::MulAdd(x, b1, s##i##1); \
  }
      TUTTI_ROWS(TUTTI_STEP)
#undef TUTTI_STEP
    }
  }
#define TUTTI_PUT(i) \
  if constexpr (i < MR) put_whole<NV>(pass, {row + i, column, count}, s##i##0, s##i##1);
#define TUTTI_PUT_PART(i) \
  if constexpr (i < MR) put_part<NV>(pass, {row + i, column, count}, s##i##0, s##i##1);
  if (HWY_LIKELY(count == NV * n)) {
    TUTTI_ROWS(TUTTI_PUT)
  } else {
    TUTTI_ROWS(TUTTI_PUT_PART)
  }
#undef TUTTI_PUT
#undef TUTTI_PUT_PART
}

using TileFunction = void (*)(const Pass&, int64_t, int64_t, int64_t, const float*);

template <int NV>
TileFunction tile_for(int64_t rows) {
  static constexpr TileFunction kTable[] = {
    nullptr,
    tile<1, NV>,
    tile<2, NV>,
    tile<3, NV>,
    tile<4, NV>,
    tile<5, NV>,
    tile<6, NV>,
#if HWY_TARGET <= HWY_AVX3
    tile<7, NV>,
    tile<8, NV>,
    tile<9, NV>,
    tile<10, NV>,
    tile<11, NV>,
    tile<12, NV>,
#endif
  };
  return kTable[rows];
}

// The second sweep, for activations that are more than a clamp.
void sweep(const GemmBlock& block, int64_t column, int64_t count) {
  const D d;
  const Epilogue& e = block.epilogue;
  const int64_t n = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t r = 0; r < block.rows; ++r) {
    float* to = block.c + r * block.c_stride + column;
    const float* residual =
        e.residual == nullptr || e.residual_first ? nullptr : e.residual + r * e.residual_stride + column;
    for (int64_t v = 0; v * n < count; ++v) {
      V y = vector_activation(d, Lanes<2>::load(to, count, static_cast<int>(v)), e.activation, e.alpha, e.beta);
      if (residual != nullptr) y = hn::Add(y, Lanes<2>::load(residual, count, static_cast<int>(v)));
      Lanes<2>::store(y, to, count, static_cast<int>(v));
    }
  }
}

Pass make_pass(const GemmBlock& block) {
  const float infinity = std::numeric_limits<float>::infinity();
  Pass pass{&block, nullptr, 0, true, false, -infinity, infinity, true};
  switch (block.epilogue.activation) {
    case Activation::kNone: break;
    case Activation::kRelu: pass.low = 0; break;
    case Activation::kClip: pass.low = block.epilogue.alpha, pass.high = block.epilogue.beta; break;
    default: pass.simple = false;
  }
  return pass;
}

void run_pass(const Pass& pass, int64_t depth_begin) {
  const GemmBlock& block = *pass.block;
  constexpr int64_t n = static_cast<int64_t>(hn::MaxLanes(D()));
  const int64_t depth = block.taps * block.channels;
  for (int64_t column = block.column_begin; column < block.column_end; column += 2 * n) {
    const int64_t count = std::min(2 * n, block.column_end - column);
    const float* panel = block.packed_b + column * depth + depth_begin * 2 * n;
    // Equal tiles rather than full ones and a rest: 8 rows are 4 + 4, not 6 + 2.
    const int64_t tiles = (block.rows + kTileRows - 1) / kTileRows;
    for (int64_t t = 0; t < tiles; ++t) {
      const int64_t begin = block.rows * t / tiles, rows = block.rows * (t + 1) / tiles - begin;
      (count > n ? tile_for<2>(rows) : tile_for<1>(rows))(pass, begin, column, count, panel);
    }
    if (pass.last && !pass.simple) sweep(block, column, count);
  }
}

// All of the depth for one group of columns.
void run_group(const GemmBlock& block) {
  constexpr int kMaxSpans = 64;
  Span spans[kMaxSpans];
  Pass pass = make_pass(block);
  pass.spans = spans;
  int64_t tap = 0, channel = 0, done = 0;
  const int64_t depth = block.taps * block.channels;
  do {
    const int64_t begin = done;
    pass.span_count = 0;
    while (done < depth && done - begin < kDepthBlock && pass.span_count < kMaxSpans) {
      const int64_t count = std::min(block.channels - channel, kDepthBlock - (done - begin));
      spans[pass.span_count++] = {tap, channel, count};
      done += count;
      channel += count;
      if (channel == block.channels) channel = 0, ++tap;
    }
    pass.first = begin == 0;
    pass.last = done >= depth;
    run_pass(pass, begin);
  } while (done < depth);
}

// Groups of columns small enough for the partial sums to stay in the second-level cache between passes.
void gemm(const GemmBlock& block) {
  constexpr int64_t kGroup = 8 * 2 * static_cast<int64_t>(hn::MaxLanes(D()));
  GemmBlock group = block;
  for (int64_t column = block.column_begin; column < block.column_end; column += kGroup) {
    group.column_begin = column;
    group.column_end = std::min(block.column_end, column + kGroup);
    run_group(group);
  }
}

void pack_b(const simd::MatrixView& b, int64_t depth, int64_t columns, simd::PanelRange panels, float* packed) {
  constexpr int64_t width = 2 * static_cast<int64_t>(hn::MaxLanes(D()));
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

int64_t panel_width() { return 2 * static_cast<int64_t>(hn::Lanes(D())); }
int64_t tile_rows() { return kTileRows; }

}  // namespace
}  // namespace tutti::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::cpu {
HWY_EXPORT(gemm);
HWY_EXPORT(pack_b);
HWY_EXPORT(panel_width);
HWY_EXPORT(tile_rows);
namespace simd {

void gemm(const GemmBlock& block) { HWY_DYNAMIC_DISPATCH(gemm)(block); }
void pack_b(const MatrixView& b, int64_t depth, int64_t columns, PanelRange panels, float* packed) {
  HWY_DYNAMIC_DISPATCH(pack_b)(b, depth, columns, panels, packed);
}
int64_t panel_width() { return HWY_DYNAMIC_DISPATCH(panel_width)(); }
int64_t tile_rows() { return HWY_DYNAMIC_DISPATCH(tile_rows)(); }

}  // namespace simd
}  // namespace tutti::cpu
#endif
