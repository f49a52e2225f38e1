// The inner tiles of the packed matrix product: sums in registers, and what follows them. Compiled once per instruction
// set: included after foreach_target.h, outside of any namespace.
#if defined(TUTTI_CPU_GEMM_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_CPU_GEMM_TILE_INL_H
#undef TUTTI_CPU_GEMM_TILE_INL_H
#else
#define TUTTI_CPU_GEMM_TILE_INL_H
#endif

#include "backends/cpu/simd/gemm.h"
#include "backends/cpu/simd/math-inl.h"
#include "hwy/cache_control.h"
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
// element. A pass is so deep that the panel's slice and the rows of one tile stay in the first-level cache together
// (32 KiB with AVX2, 48 KiB with AVX-512) while all rows of the block go by.
#if HWY_TARGET <= HWY_AVX3
constexpr int64_t kTileRows = 12, kMostDepth = 256;
#else
constexpr int64_t kTileRows = 6, kMostDepth = 320;
#endif
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
constexpr int64_t kPanel = 2 * kLanes;
constexpr int64_t kLineFloats = 16;  // of a cache line

// A run of channels within one tap.
struct Span {
  int64_t tap, begin, count;
};

// Activations that are applied while the sums are in registers; others follow in a sweep over the panel's results.
enum class InRegisters : uint8_t { kNone, kClamp, kHardSwish, kHardSigmoid, kSweep };

struct Pass {
  const GemmBlock* block;
  const Span* spans;
  int64_t span_count;
  int64_t depth;  // of all spans
  bool first, last;
  InRegisters activation;
  float low, high;  // of the clamp; slope and offset of the hard sigmoid
  bool residual_before, residual_after;
};

// The rows of a tile start at `row`, its columns are [column, column + count). While it is computed, what comes after
// the current panel is fetched from `ahead` on, so many cache lines in every kFetchSteps steps.
constexpr int64_t kFetchSteps = 16;
struct Place {
  int64_t row, column, count;
  const float* ahead;
  int64_t ahead_lines;
};

HWY_INLINE const float* row_of(const GemmBlock& b, const Span& span, int64_t row) {
  const float* start = b.a != nullptr ? b.a[span.tap * b.rows + row] : b.a_base + row * b.a_stride;
  return start + span.begin;
}

HWY_INLINE V load_some(const float* from, int64_t count) {
  const D d;
  return count >= kLanes ? hn::LoadU(d, from) : hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, from);
}
HWY_INLINE void store_some(V value, float* to, int64_t count) {
  const D d;
  if (count >= kLanes) return hn::StoreU(value, d, to);
  hn::BlendedStore(value, hn::FirstN(d, static_cast<size_t>(count)), d, to);
}

HWY_INLINE V activate(const Pass& pass, V y) {
  const D d;
  switch (pass.activation) {
    case InRegisters::kClamp: return clamp_keeping_nan(hn::Set(d, pass.low), hn::Set(d, pass.high), y);
    case InRegisters::kHardSwish: return hn::Mul(y, vector_hard_sigmoid(d, y, 1.0f / 6, 0.5f));
    case InRegisters::kHardSigmoid: return vector_hard_sigmoid(d, y, pass.low, pass.high);
    default: return y;
  }
}

// Finishes sums of any width that were put down in memory, [rows][width]; the same steps in the same order as at the
// end of `tile`.
HWY_NOINLINE void finish_from(const float* sums, int64_t width, const Pass& pass, const Place& at, int64_t rows) {
  const D d;
  const GemmBlock& b = *pass.block;
  const Epilogue& e = b.epilogue;
  for (int64_t r = 0; r < rows; ++r) {
    float* to = b.c + (at.row + r) * b.c_stride + at.column;
    const float* residual = e.residual ? e.residual + (at.row + r) * e.residual_stride + at.column : nullptr;
    for (int64_t j = 0; j < at.count; j += kLanes) {
      const int64_t left = at.count - j;
      V y = hn::LoadU(d, sums + r * width + j);
      if (!pass.first) y = hn::Add(load_some(to + j, left), y);
      if (pass.last) {
        if (e.scale != 1) y = hn::Mul(y, hn::Set(d, e.scale));
        if (e.bias != nullptr) y = hn::Add(y, load_some(e.bias + at.column + j, left));
        if (pass.residual_before) y = hn::Add(y, load_some(residual + j, left));
        y = activate(pass, y);
        if (pass.residual_after) y = hn::Add(y, load_some(residual + j, left));
      }
      store_some(y, to + j, left);
    }
  }
}

#define TUTTI_ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
// Both sums of row i become f(sum, column vector 0 or 1).
#define TUTTI_EACH(i, f)                    \
  if constexpr (i < MR) {                   \
    s##i##0 = f(s##i##0, i, 0);             \
    if (NV > 1) s##i##1 = f(s##i##1, i, 1); \
  }

// MR rows by NV vectors of columns. The sums are separate variables, so that each gets a register.
template <int MR, int NV>
HWY_NOINLINE void tile(const Pass& pass, const Place& at, const float* panel) {
  const D d;
  const GemmBlock& block = *pass.block;
  const float* ahead = at.ahead;
#define TUTTI_DECLARE(i) [[maybe_unused]] V s##i##0 = hn::Zero(d), s##i##1 = hn::Zero(d);
  TUTTI_ROWS(TUTTI_DECLARE)
#undef TUTTI_DECLARE
  for (int64_t s = 0; s < pass.span_count; ++s) {
    const Span span = pass.spans[s];
#define TUTTI_ROW(i) [[maybe_unused]] const float* a##i = i < MR ? row_of(block, span, at.row + i) : nullptr;
    TUTTI_ROWS(TUTTI_ROW)
#undef TUTTI_ROW
    for (int64_t k = 0; k < span.count;) {
      const int64_t stop = span.count - k < 2 * kFetchSteps ? span.count : k + kFetchSteps;
      // Into the second-level cache: the first has no room to spare.
      for (int64_t i = 0; i < at.ahead_lines; ++i, ahead += kLineFloats) __builtin_prefetch(ahead, 0, 2);
      for (; k < stop; ++k) {
        const V b0 = hn::LoadU(d, panel);
        const V b1 = NV > 1 ? hn::LoadU(d, panel + kLanes) : b0;
        panel += kPanel;
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
  }
  if (HWY_UNLIKELY(at.count != NV * kLanes)) {
    HWY_ALIGN float sums[MR * NV * kLanes];
#define TUTTI_PUT(i)                                                     \
  if constexpr (i < MR) {                                                \
    hn::StoreU(s##i##0, d, sums + i * NV * kLanes);                      \
    if (NV > 1) hn::StoreU(s##i##1, d, sums + i * NV * kLanes + kLanes); \
  }
    TUTTI_ROWS(TUTTI_PUT)
#undef TUTTI_PUT
    return finish_from(sums, NV * kLanes, pass, at, MR);
  }
  const int64_t stride = block.c_stride;
  float* to = block.c + at.row * stride + at.column;
  if (!pass.first) {
#define TUTTI_OLD(s, i, v) hn::Add(hn::LoadU(d, to + i * stride + v * kLanes), s)
#define TUTTI_DO(i) TUTTI_EACH(i, TUTTI_OLD)
    TUTTI_ROWS(TUTTI_DO)
#undef TUTTI_DO
  }
  if (pass.last) {
    const Epilogue& e = block.epilogue;
    if (e.scale != 1) {
      const V scale = hn::Set(d, e.scale);
#define TUTTI_SCALE(s, i, v) hn::Mul(s, scale)
#define TUTTI_DO(i) TUTTI_EACH(i, TUTTI_SCALE)
      TUTTI_ROWS(TUTTI_DO)
#undef TUTTI_DO
    }
    if (e.bias != nullptr) {
      const V bias0 = hn::LoadU(d, e.bias + at.column);
      [[maybe_unused]] const V bias1 = NV > 1 ? hn::LoadU(d, e.bias + at.column + kLanes) : bias0;
#define TUTTI_BIAS(s, i, v) hn::Add(s, bias##v)
#define TUTTI_DO(i) TUTTI_EACH(i, TUTTI_BIAS)
      TUTTI_ROWS(TUTTI_DO)
#undef TUTTI_DO
    }
    const float* residual = e.residual ? e.residual + at.row * e.residual_stride + at.column : nullptr;
#define TUTTI_RESIDUAL(s, i, v) hn::Add(s, hn::LoadU(d, residual + i * e.residual_stride + v * kLanes))
#define TUTTI_ADD_RESIDUAL(i) TUTTI_EACH(i, TUTTI_RESIDUAL)
    if (pass.residual_before) {
      TUTTI_ROWS(TUTTI_ADD_RESIDUAL)
    }
    switch (pass.activation) {
      case InRegisters::kNone:
      case InRegisters::kSweep: break;
      case InRegisters::kClamp: {
        const V low = hn::Set(d, pass.low), high = hn::Set(d, pass.high);
#define TUTTI_CLAMP(s, i, v) clamp_keeping_nan(low, high, s)
#define TUTTI_DO(i) TUTTI_EACH(i, TUTTI_CLAMP)
        TUTTI_ROWS(TUTTI_DO)
#undef TUTTI_DO
        break;
      }
      case InRegisters::kHardSwish: {
#define TUTTI_HARD_SWISH(s, i, v) hn::Mul(s, vector_hard_sigmoid(d, s, 1.0f / 6, 0.5f))
#define TUTTI_DO(i) TUTTI_EACH(i, TUTTI_HARD_SWISH)
        TUTTI_ROWS(TUTTI_DO)
#undef TUTTI_DO
        break;
      }
      default: {
#define TUTTI_OTHER(s, i, v) activate(pass, s)
#define TUTTI_DO(i) TUTTI_EACH(i, TUTTI_OTHER)
        TUTTI_ROWS(TUTTI_DO)
#undef TUTTI_DO
      }
    }
    if (pass.residual_after) {
      TUTTI_ROWS(TUTTI_ADD_RESIDUAL)
    }
  }
#define TUTTI_STORE(s, i, v) (hn::StoreU(s, d, to + i * stride + v * kLanes), s)
#define TUTTI_DO(i) TUTTI_EACH(i, TUTTI_STORE)
  TUTTI_ROWS(TUTTI_DO)
#undef TUTTI_DO
}

using TileFunction = void (*)(const Pass&, const Place&, const float*);

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

// MR rows by NP whole panels, `panel_floats` apart: products with few rows are bound by reading the right side, so
// several streams of it are kept going. The same sums as `tile`.
template <int MR, int NP>
HWY_NOINLINE void wide_tile(const Pass& pass, const Place& at, const float* panel, int64_t panel_floats) {
  const D d;
  constexpr int kSums = MR * NP * 2;
  static_assert(kSums <= 12 && NP <= 4);
  const GemmBlock& block = *pass.block;
  const float* panels[4] = {panel, panel + panel_floats, NP > 2 ? panel + 2 * panel_floats : panel,
                            NP > 3 ? panel + 3 * panel_floats : panel};
  const float *p0 = panels[0], *p1 = panels[1], *p2 = panels[2], *p3 = panels[3];
#define TUTTI_DECLARE(q) [[maybe_unused]] V s##q = hn::Zero(d);
  TUTTI_ROWS(TUTTI_DECLARE)
#undef TUTTI_DECLARE
  for (int64_t s = 0; s < pass.span_count; ++s) {
    const Span span = pass.spans[s];
    const float* a0 = row_of(block, span, at.row);
    const float* a1 = MR > 1 ? row_of(block, span, at.row + 1) : a0;
    const float* a2 = MR > 2 ? row_of(block, span, at.row + 2) : a0;
    for (int64_t k = 0; k < span.count; ++k) {
      if constexpr (MR == 1) {
        constexpr int64_t kAhead = 16 * kPanel;
        hwy::Prefetch(p0 + kAhead);
        hwy::Prefetch(p1 + kAhead);
        if (NP > 2) hwy::Prefetch(p2 + kAhead);
        if (NP > 3) hwy::Prefetch(p3 + kAhead);
      }
      const V x0 = hn::Set(d, a0[k]);
      [[maybe_unused]] const V x1 = MR > 1 ? hn::Set(d, a1[k]) : x0;
      [[maybe_unused]] const V x2 = MR > 2 ? hn::Set(d, a2[k]) : x0;
      // Sum q is of panel q / 2MR, row q / 2 mod MR, vector q mod 2.
#define TUTTI_STEP(q)                                                                             \
  if constexpr (q < kSums) {                                                                      \
    constexpr int p = q / (2 * MR), r = q / 2 % MR;                                               \
    const float* from = p == 0 ? p0 : p == 1 ? p1 : p == 2 ? p2 : p3;                             \
    s##q = hn::MulAdd(r == 0 ? x0 : r == 1 ? x1 : x2, hn::LoadU(d, from + q % 2 * kLanes), s##q); \
  }
      TUTTI_ROWS(TUTTI_STEP)
#undef TUTTI_STEP
      p0 += kPanel;
      p1 += kPanel;
      if (NP > 2) p2 += kPanel;
      if (NP > 3) p3 += kPanel;
    }
  }
  HWY_ALIGN float sums[kSums * kLanes];
#define TUTTI_PUT(q)       \
  if constexpr (q < kSums) \
    hn::StoreU(s##q, d, sums + q / 2 % MR * (NP * kPanel) + q / (2 * MR) * kPanel + q % 2 * kLanes);
  TUTTI_ROWS(TUTTI_PUT)
#undef TUTTI_PUT
  finish_from(sums, NP * kPanel, pass, at, MR);
}

#undef TUTTI_EACH
#undef TUTTI_ROWS

}  // namespace
}  // namespace tutti::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
