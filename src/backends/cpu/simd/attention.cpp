#include "backends/cpu/simd/attention.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/attention.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "backends/cpu/simd/math-inl.h"
#include "backends/cpu/simd/turn-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::cpu::HWY_NAMESPACE {
namespace {

using simd::AttentionBlock;
using simd::StridedRows;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
constexpr int64_t kMaxPanels = 64 / kLanes + 1;
constexpr int64_t kMaxKeys = 128;          // of one block: its scores of a panel stay in the first-level cache
constexpr int64_t kOperandFloats = 16384;  // queries and sums of a block of queries
constexpr int64_t kKeyFloats = 8192;       // keys or values of a block of keys
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// e^x for x <= 0: 0 below -87, exactly 1 at 0, NaN stays NaN. 2^n times a degree 5 polynomial for 2^r on [-1/2, 1/2],
// within 1e-7; the rounded log2(e) adds 1.3e-8 |x|, which a softmax does not see: what it weighs is e^x. Two thirds of
// vector_exp.
HWY_INLINE V exp_of_negative(V x) {
  const D d;
  const hn::RebindToSigned<D> di;
  const V low = hn::Set(d, -87.0f), log2e = hn::Set(d, 1.44269504f);
  const V magic = hn::Set(d, 12582912.0f);  // 1.5 * 2^23: the sum's low bits are a whole number
  const V clamped = hn::Max(low, x);
  const V shifted = hn::MulAdd(clamped, log2e, magic);
  const V r = hn::MulSub(clamped, log2e, hn::Sub(shifted, magic));
  V p = hn::Set(d, 0.00132647273f);
  for (const float c : {0.00967151299f, 0.0555073358f, 0.240222424f, 0.693147004f, 1.0f})
    p = hn::MulAdd(p, r, hn::Set(d, c));
  const V result = hn::BitCast(d, hn::Add(hn::BitCast(di, p), hn::ShiftLeft<23>(hn::BitCast(di, shifted))));
  return hn::IfThenZeroElse(hn::Lt(x, low), result);
}

// The rows themselves where they lie close together, else a copy: the loops over them then walk few pages.
StridedRows<const float> gathered(const StridedRows<const float>& from, int64_t first, int64_t rows, int64_t columns,
                                  float* copy) {
  const float* at = from.data + first * from.row_stride;
  if (from.column_stride == 1 && from.row_stride == columns) return {at, columns, 1};
  for (int64_t r = 0; r < rows; ++r, at += from.row_stride) {
    if (from.column_stride == 1)
      std::memcpy(copy + r * columns, at, static_cast<size_t>(columns) * sizeof(float));
    else
      for (int64_t c = 0; c < columns; ++c) copy[r * columns + c] = at[c * from.column_stride];
  }
  return {copy, columns, 1};
}

// --- products

#define TUTTI_ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)

struct Product {
  const float* a;
  int64_t a_stride;
  const float* b;  // depth x panel
  int64_t depth;
  float* c;  // rows x panel
};

// MR rows by NV vectors: c[i] = sum over t of a[i][t] * b[t], one row of `a` per result row.
template <int MR, int NV>
HWY_NOINLINE void scores_tile(const Product& p) {
  const D d;
#define TUTTI_DECLARE(i)                          \
  V s##i##0 = hn::Zero(d), s##i##1 = hn::Zero(d); \
  [[maybe_unused]] const float* a##i = p.a + (i < MR ? i : 0) * p.a_stride;
  TUTTI_ROWS(TUTTI_DECLARE)
#undef TUTTI_DECLARE
  const float* b = p.b;
  float* c = p.c;
  for (int64_t t = 0, depth = p.depth; t < depth; ++t, b += NV * kLanes) {
    const V b0 = hn::LoadU(d, b), b1 = NV > 1 ? hn::LoadU(d, b + kLanes) : b0;
#define TUTTI_STEP(i)                                 \
  if constexpr (i < MR) {                             \
    const V x = hn::Set(d, a##i[t]);                  \
    s##i##0 = hn::MulAdd(x, b0, s##i##0);             \
    if (NV > 1) s##i##1 = hn::MulAdd(x, b1, s##i##1); \
  }
    TUTTI_ROWS(TUTTI_STEP)
#undef TUTTI_STEP
  }
#define TUTTI_PUT(i)                                               \
  if constexpr (i < MR) {                                          \
    hn::StoreU(s##i##0, d, c + i * NV * kLanes);                   \
    if (NV > 1) hn::StoreU(s##i##1, d, c + (i * NV + 1) * kLanes); \
  }
  TUTTI_ROWS(TUTTI_PUT)
#undef TUTTI_PUT
}

// c[i] = c[i] * factor + sum over t of a[t][i] * b[t]: rows of `a` are the depth.
template <int MR, int NV>
HWY_NOINLINE void values_tile(const Product& p, const float* factor) {
  const D d;
  const V f0 = hn::LoadU(d, factor), f1 = NV > 1 ? hn::LoadU(d, factor + kLanes) : f0;
#define TUTTI_DECLARE(i)                                                                              \
  V s##i##0 = i < MR ? hn::Mul(hn::LoadU(d, p.c + (i < MR ? i : 0) * NV * kLanes), f0) : hn::Zero(d); \
  V s##i##1 =                                                                                         \
      i < MR && NV > 1 ? hn::Mul(hn::LoadU(d, p.c + ((i < MR ? i : 0) * NV + NV - 1) * kLanes), f1) : hn::Zero(d);
  TUTTI_ROWS(TUTTI_DECLARE)
#undef TUTTI_DECLARE
  const float *a = p.a, *b = p.b;
  float* c = p.c;
  for (int64_t t = 0, depth = p.depth; t < depth; ++t, b += NV * kLanes, a += p.a_stride) {
    const V b0 = hn::LoadU(d, b), b1 = NV > 1 ? hn::LoadU(d, b + kLanes) : b0;
#define TUTTI_STEP(i)                                 \
  if constexpr (i < MR) {                             \
    const V x = hn::Set(d, a[i]);                     \
    s##i##0 = hn::MulAdd(x, b0, s##i##0);             \
    if (NV > 1) s##i##1 = hn::MulAdd(x, b1, s##i##1); \
  }
    TUTTI_ROWS(TUTTI_STEP)
#undef TUTTI_STEP
  }
#define TUTTI_PUT(i)                                               \
  if constexpr (i < MR) {                                          \
    hn::StoreU(s##i##0, d, c + i * NV * kLanes);                   \
    if (NV > 1) hn::StoreU(s##i##1, d, c + (i * NV + 1) * kLanes); \
  }
  TUTTI_ROWS(TUTTI_PUT)
#undef TUTTI_PUT
}

// 12 sums of 16 vector registers for two vectors, 8 for one; 16 of 32 with AVX-512, where row addresses are the limit.
#if HWY_TARGET <= HWY_AVX3
template <int NV>
constexpr int64_t kTile = 8;
#else
template <int NV>
constexpr int64_t kTile = NV == 2 ? 6 : 8;
#endif

// Equal tiles rather than full ones and a rest.
template <int NV, class F>
HWY_INLINE void for_tiles(int64_t count, F&& f) {
  const int64_t tiles = (count + kTile<NV> - 1) / kTile<NV>;
  for (int64_t t = 0; t < tiles; ++t) {
    const int64_t begin = count * t / tiles;
    f(begin, count * (t + 1) / tiles - begin);
  }
}

template <int NV>
void scores_of(const StridedRows<const float>& keys, int64_t count, Product p) {
  using F = void (*)(const Product&);
  static constexpr F kTiles[] = {nullptr,
                                 scores_tile<1, NV>,
                                 scores_tile<2, NV>,
                                 scores_tile<3, NV>,
                                 scores_tile<4, NV>,
                                 scores_tile<5, NV>,
                                 scores_tile<6, NV>,
                                 scores_tile<7, NV>,
                                 scores_tile<8, NV>};
  float* c = p.c;
  for_tiles<NV>(count, [&](int64_t begin, int64_t rows) {
    p.a = keys.data + begin * keys.row_stride;
    p.a_stride = keys.row_stride;
    p.c = c + begin * NV * kLanes;
    kTiles[rows](p);
  });
}

template <int NV>
void add_values(const StridedRows<const float>& values, int64_t columns, Product p, const float* factor) {
  using F = void (*)(const Product&, const float*);
  static constexpr F kTiles[] = {nullptr,
                                 values_tile<1, NV>,
                                 values_tile<2, NV>,
                                 values_tile<3, NV>,
                                 values_tile<4, NV>,
                                 values_tile<5, NV>,
                                 values_tile<6, NV>,
                                 values_tile<7, NV>,
                                 values_tile<8, NV>};
  float* c = p.c;
  for_tiles<NV>(columns, [&](int64_t begin, int64_t rows) {
    p.a = values.data + begin;
    p.a_stride = values.row_stride;
    p.c = c + begin * NV * kLanes;
    kTiles[rows](p, factor);
  });
}

// --- one panel of queries: NV vectors of lanes

struct Panel {
  int64_t first = 0, count = 0;               // queries of the block
  bool two = false;                           // vectors
  float *queries = nullptr, *sums = nullptr;  // size x lanes, value_size x lanes
};

struct KeyBlock {
  int64_t first = 0, count = 0;
  StridedRows<const float> keys, values;
};

template <int NV>
void add_bias(StridedRows<const float> bias, const Panel& panel, const KeyBlock& at, float* scores) {
  const D d;
  constexpr int64_t width = NV * kLanes;
  bias.data += panel.first * bias.row_stride + at.first * bias.column_stride;
  if (bias.row_stride != 0 && bias.column_stride == 1)
    return turn<true>({bias.data, bias.row_stride, panel.count, at.count, scores, width});
  for (int64_t k = 0; k < at.count; ++k) {
    float* to = scores + k * width;
    if (bias.row_stride == 0) {
      const V value = hn::Set(d, bias.data[k * bias.column_stride]);
      for (int v = 0; v < NV; ++v) hn::StoreU(hn::Add(hn::LoadU(d, to + v * kLanes), value), d, to + v * kLanes);
    } else {
      for (int64_t q = 0; q < panel.count; ++q) to[q] += bias.data[q * bias.row_stride + k * bias.column_stride];
    }
  }
}

template <int NV>
void apply_mask(const AttentionBlock& block, const Panel& panel, const KeyBlock& at, float* scores) {
  const bool* mask = block.mask.data + panel.first * block.mask.row_stride + at.first * block.mask.column_stride;
  for (int64_t k = 0; k < at.count; ++k, mask += block.mask.column_stride)
    for (int64_t q = 0; q < panel.count; ++q)
      if (!mask[q * block.mask.row_stride]) scores[k * NV * kLanes + q] = block.masked_value;
}

template <int NV>
void hide_later_keys(const AttentionBlock& block, const Panel& panel, const KeyBlock& at, float* scores) {
  const D d;
  const V hidden = hn::Set(d, -kInfinity);
  const int64_t first_query = block.first_query + panel.first;
  for (int64_t k = std::max<int64_t>(0, first_query + 1 - at.first); k < at.count; ++k)
    for (int v = 0; v < NV; ++v) {
      float* to = scores + (k * NV + v) * kLanes;
      const V later = hn::Set(d, static_cast<float>(at.first + k - first_query - v * kLanes));
      hn::StoreU(hn::IfThenElse(hn::Lt(hn::Iota(d, 0), later), hidden, hn::LoadU(d, to)), d, to);
    }
}

template <int NV>
void cap(float limit, int64_t count, float* scores) {
  const D d;
  const V c = hn::Set(d, limit), inverse = hn::Set(d, 1 / limit);
  for (int64_t i = 0; i < count * NV; ++i)
    hn::StoreU(hn::Mul(c, vector_tanh(d, hn::Mul(inverse, hn::LoadU(d, scores + i * kLanes)))), d, scores + i * kLanes);
}

// Four at a time: one maximum after the other would wait for each.
template <int NV>
HWY_INLINE V largest(V top, const float* scores, int64_t count) {
  const D d;
  V others[3] = {top, top, top};
  int64_t k = 0;
  for (; k + 4 <= count; k += 4) {
    const float* at = scores + k * NV * kLanes;
    top = hn::Max(top, hn::LoadU(d, at));
    for (int i = 0; i < 3; ++i) others[i] = hn::Max(others[i], hn::LoadU(d, at + (i + 1) * NV * kLanes));
  }
  for (; k < count; ++k) top = hn::Max(top, hn::LoadU(d, scores + k * NV * kLanes));
  return hn::Max(hn::Max(top, others[0]), hn::Max(others[1], others[2]));
}

// Scores become exponentials over the largest score so far; `factor` is what earlier sums have to be multiplied with.
struct Running {
  HWY_ALIGN float top[2 * kLanes], total[2 * kLanes];
};
template <int NV>
void exponentials(int64_t count, float* scores, Running& running, float* factor) {
  const D d;
  for (int v = 0; v < NV; ++v) {
    const V old = hn::Load(d, running.top + v * kLanes);
    const V top = largest<NV>(old, scores + v * kLanes, count);
    // While every score is -inf there is nothing to subtract: -inf - (-inf) would be NaN, though later keys may count.
    const V safe = hn::IfThenElse(hn::Eq(top, hn::Set(d, -kInfinity)), hn::Zero(d), top);
    V sum = hn::Zero(d);
    for (int64_t k = 0; k < count; ++k) {
      float* at = scores + (k * NV + v) * kLanes;
      const V e = exp_of_negative(hn::Sub(hn::LoadU(d, at), safe));
      sum = hn::Add(sum, e);
      hn::StoreU(e, d, at);
    }
    const V f = exp_of_negative(hn::Sub(old, safe));
    hn::Store(f, d, factor + v * kLanes);
    hn::Store(top, d, running.top + v * kLanes);
    hn::Store(hn::MulAdd(hn::Load(d, running.total + v * kLanes), f, sum), d, running.total + v * kLanes);
  }
}

template <int NV>
void take_keys(const AttentionBlock& block, const Panel& panel, const KeyBlock& at, Running& running, float* scores) {
  const int64_t last_query = block.first_query + panel.first + panel.count - 1;
  if (block.causal && at.first > last_query) return;
  scores_of<NV>(at.keys, at.count, {nullptr, 0, panel.queries, block.size, scores});
  if (block.softcap > 0) cap<NV>(block.softcap, at.count, scores);
  for (const auto& bias : block.biases)
    if (bias.data != nullptr) add_bias<NV>(bias, panel, at, scores);
  if (block.mask.data != nullptr) apply_mask<NV>(block, panel, at, scores);
  if (block.causal) hide_later_keys<NV>(block, panel, at, scores);
  HWY_ALIGN float factor[2 * kLanes];
  exponentials<NV>(at.count, scores, running, factor);
  add_values<NV>(at.values, block.value_size, {nullptr, 0, scores, at.count, panel.sums}, factor);
}

template <int NV>
void start(const AttentionBlock& block, const Panel& panel, Running& running) {
  constexpr int64_t width = NV * kLanes;
  std::fill_n(running.top, width, -kInfinity);
  std::fill_n(running.total, width, 0.0f);
  std::fill_n(panel.sums, block.value_size * width, 0.0f);
  if (panel.count < width) std::fill_n(panel.queries, block.size * width, 0.0f);
  const float* from = block.q.data + panel.first * block.q.row_stride;
  if (block.q.column_stride == 1)
    return turn<false>({from, block.q.row_stride, panel.count, block.size, panel.queries, width, block.scale});
  for (int64_t r = 0; r < panel.count; ++r)
    for (int64_t c = 0; c < block.size; ++c)
      panel.queries[c * width + r] = block.scale * from[r * block.q.row_stride + c * block.q.column_stride];
}

template <int NV>
void finish(const AttentionBlock& block, const Panel& panel, const Running& running) {
  const D d;
  constexpr int64_t width = NV * kLanes;
  for (int v = 0; v < NV; ++v) {
    const V total = hn::Load(d, running.total + v * kLanes), one = hn::Set(d, 1.0f);
    const V inverse = hn::Div(one, total);
    // Neither NaN nor zero is above zero.
    const auto empty = hn::Not(hn::Gt(total, hn::Zero(d)));
    for (int64_t c = 0; c < block.value_size; ++c) {
      float* at = panel.sums + c * width + v * kLanes;
      const V y = hn::Mul(hn::LoadU(d, at), inverse);
      hn::StoreU(block.zero_masked_rows ? hn::IfThenZeroElse(empty, y) : y, d, at);
    }
  }
  float* to = block.dst.data + panel.first * block.dst.row_stride;
  if (block.dst.column_stride == 1)
    return turn<false>({panel.sums, width, block.value_size, panel.count, to, block.dst.row_stride});
  for (int64_t r = 0; r < panel.count; ++r)
    for (int64_t c = 0; c < block.value_size; ++c)
      to[r * block.dst.row_stride + c * block.dst.column_stride] = panel.sums[c * width + r];
}

// Two vectors of queries, and one where that is enough for the rest.
int64_t cut_panels(const AttentionBlock& block, float* queries, float* sums, Panel* panels) {
  int64_t count = 0;
  for (int64_t first = 0; first < block.queries; ++count) {
    const int64_t left = block.queries - first, width = left > kLanes ? 2 * kLanes : kLanes;
    panels[count] = {first, std::min(left, width), left > kLanes, queries, sums};
    queries += width * block.size;
    sums += width * block.value_size;
    first += width;
  }
  return count;
}

void attention(const AttentionBlock& block) {
  HWY_ALIGN float queries[kOperandFloats];
  HWY_ALIGN float sums[kOperandFloats];
  HWY_ALIGN float keys[kKeyFloats];
  HWY_ALIGN float values[kKeyFloats];
  HWY_ALIGN float scores[kMaxKeys * 2 * kLanes];
  Panel panels[kMaxPanels];
  Running running[kMaxPanels];
  const int64_t panel_count = cut_panels(block, queries, sums, panels);
  for (int64_t p = 0; p < panel_count; ++p)
    panels[p].two ? start<2>(block, panels[p], running[p]) : start<1>(block, panels[p], running[p]);
  const int64_t most = std::min(kMaxKeys, kKeyFloats / std::max(block.size, block.value_size));
  const int64_t blocks = (block.keys + most - 1) / most;
  for (int64_t i = 0; i < blocks; ++i) {
    KeyBlock at{block.keys * i / blocks, 0, {}, {}};
    at.count = block.keys * (i + 1) / blocks - at.first;
    if (block.causal && at.first >= block.first_query + block.queries) break;
    at.keys = gathered(block.k, at.first, at.count, block.size, keys);
    at.values = gathered(block.v, at.first, at.count, block.value_size, values);
    for (int64_t p = 0; p < panel_count; ++p)
      panels[p].two ? take_keys<2>(block, panels[p], at, running[p], scores)
                    : take_keys<1>(block, panels[p], at, running[p], scores);
  }
  for (int64_t p = 0; p < panel_count; ++p)
    panels[p].two ? finish<2>(block, panels[p], running[p]) : finish<1>(block, panels[p], running[p]);
}

}  // namespace
}  // namespace tutti::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::cpu {
HWY_EXPORT(attention);
namespace simd {

void attention(const AttentionBlock& block) { HWY_DYNAMIC_DISPATCH(attention)(block); }

}  // namespace simd
}  // namespace tutti::cpu
#endif
