#include "backends/cpu/simd/depthwise.h"

#include <algorithm>
#include <limits>

#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/depthwise.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "backends/cpu/simd/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::cpu::HWY_NAMESPACE {
namespace {

using ops::Activation;
using simd::DepthwiseRow;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

// Where the activation needs no more registers than it finds it is compiled in; the others are one call per vector.
enum class Kind : uint8_t { kClamp, kHardSwish, kSilu, kOther };

struct Row {
  const DepthwiseRow* p;
  float low, high;
};

HWY_NOINLINE V other_activation(const DepthwiseRow& p, V y) {
  return vector_activation(D(), y, p.activation, p.alpha, p.beta);
}

template <Kind A>
HWY_INLINE V activate(const Row& row, V y) {
  const D d;
  if constexpr (A == Kind::kClamp) return clamp_keeping_nan(hn::Set(d, row.low), hn::Set(d, row.high), y);
  if constexpr (A == Kind::kHardSwish) return vector_activation(d, y, Activation::kHardSwish, 0, 0);
  if constexpr (A == Kind::kSilu) return vector_activation(d, y, Activation::kSilu, 0, 0);
  return other_activation(*row.p, y);
}

template <Kind A>
HWY_INLINE void finish(const Row& row, int64_t at, V y) {
  const D d;
  const DepthwiseRow& p = *row.p;
  if (p.residual && p.residual_first) y = hn::Add(y, hn::LoadU(d, p.residual + at));
  y = activate<A>(row, y);
  if (p.residual && !p.residual_first) y = hn::Add(y, hn::LoadU(d, p.residual + at));
  hn::StoreU(y, d, p.out + at);
}

// Taps [begin, end) of a window's line.
struct Taps {
  int64_t begin, end;
};

template <int I>
HWY_INLINE V pick(V v0, V v1, V v2, V v3) {
  return I == 0 ? v0 : I == 1 ? v1 : I == 2 ? v2 : v3;
}

#define TUTTI_EIGHT(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)

// P neighbouring pixels by N vectors of channels from pixel `o` and channel `c` on: P * N sums side by side, so that
// the latency of an addition is hidden; sum q is of pixel q / N, vector q mod N.
template <Kind A, int P, int N>
HWY_NOINLINE void pixels(const Row& row, int64_t o, int64_t c, Taps taps) {
  static_assert(P * N <= 8 && N <= 4);
  const D d;
  const DepthwiseRow& p = *row.p;
  const int64_t step = p.stride * p.channels, next = p.dilation * p.channels;
#define TUTTI_DECLARE(q) \
  [[maybe_unused]] V s##q = q < P * N && p.bias ? hn::LoadU(d, p.bias + c + q % N * kLanes) : hn::Zero(d);
  TUTTI_EIGHT(TUTTI_DECLARE)
#undef TUTTI_DECLARE
  for (int64_t i = 0; i < p.kernel_height; ++i) {
    if (p.rows[i] == nullptr) continue;
    const float* x = p.rows[i] + (o * p.stride - p.pad + taps.begin * p.dilation) * p.channels + c;
    const float* w = p.weights + (i * p.kernel_width + taps.begin) * p.channels + c;
    for (int64_t j = taps.begin; j < taps.end; ++j) {
      const V w0 = hn::LoadU(d, w);
      [[maybe_unused]] const V w1 = N > 1 ? hn::LoadU(d, w + kLanes) : w0;
      [[maybe_unused]] const V w2 = N > 2 ? hn::LoadU(d, w + 2 * kLanes) : w0;
      [[maybe_unused]] const V w3 = N > 3 ? hn::LoadU(d, w + 3 * kLanes) : w0;
#define TUTTI_STEP(q)      \
  if constexpr (q < P * N) \
    s##q = hn::MulAdd(hn::LoadU(d, x + q / N * step + q % N * kLanes), pick<q % N>(w0, w1, w2, w3), s##q);
      TUTTI_EIGHT(TUTTI_STEP)
#undef TUTTI_STEP
      x += next;
      w += p.channels;
    }
  }
#define TUTTI_FINISH(q) \
  if constexpr (q < P * N) finish<A>(row, (o + q / N) * p.channels + c + q % N * kLanes, s##q);
  TUTTI_EIGHT(TUTTI_FINISH)
#undef TUTTI_FINISH
}

// Fewer channels than a vector holds.
HWY_NOINLINE void last_channels(const DepthwiseRow& p, int64_t o, int64_t c, Taps taps) {
  const D d;
  const auto some = hn::FirstN(d, static_cast<size_t>(p.channel_end - c));
  const int64_t at = o * p.channels + c;
  V y = p.bias ? hn::MaskedLoad(some, d, p.bias + c) : hn::Zero(d);
  for (int64_t i = 0; i < p.kernel_height; ++i) {
    if (p.rows[i] == nullptr) continue;
    for (int64_t j = taps.begin; j < taps.end; ++j) {
      const float* x = p.rows[i] + (o * p.stride + j * p.dilation - p.pad) * p.channels + c;
      const float* w = p.weights + (i * p.kernel_width + j) * p.channels + c;
      y = hn::MulAdd(hn::MaskedLoad(some, d, x), hn::MaskedLoad(some, d, w), y);
    }
  }
  if (p.residual && p.residual_first) y = hn::Add(y, hn::MaskedLoad(some, d, p.residual + at));
  y = other_activation(p, y);
  if (p.residual && !p.residual_first) y = hn::Add(y, hn::MaskedLoad(some, d, p.residual + at));
  hn::BlendedStore(y, some, d, p.out + at);
}

// The taps of pixel `o` that lie inside the row.
Taps taps_of(const DepthwiseRow& p, int64_t o) {
  const int64_t x = o * p.stride - p.pad;
  const int64_t begin = x >= 0 ? 0 : std::min(p.kernel_width, (-x + p.dilation - 1) / p.dilation);
  const int64_t end = x >= p.in_width ? 0 : std::min(p.kernel_width, (p.in_width - 1 - x) / p.dilation + 1);
  return {begin, std::max(begin, end)};
}

// Pixels whose whole window lies inside the row.
struct Inner {
  int64_t begin, end;
};

template <Kind A, int N>
void strip(const Row& row, int64_t c, Inner inner) {
  const DepthwiseRow& p = *row.p;
  const Taps all{0, p.kernel_width};
  int64_t o = 0;
  for (; o < inner.begin; ++o) pixels<A, 1, N>(row, o, c, taps_of(p, o));
  for (; o + 4 <= inner.end; o += 4) {
    if constexpr (N == 4) {
      pixels<A, 4, 2>(row, o, c, all);
      pixels<A, 4, 2>(row, o, c + 2 * kLanes, all);
    } else {
      pixels<A, 4, N>(row, o, c, all);
    }
  }
  for (; o + 2 <= inner.end; o += 2) pixels<A, 2, N>(row, o, c, all);
  for (; o < p.out_width; ++o) pixels<A, 1, N>(row, o, c, taps_of(p, o));
}

template <Kind A>
void whole_row(const Row& row) {
  const DepthwiseRow& p = *row.p;
  const int64_t begin = std::min(p.out_width, (p.pad + p.stride - 1) / p.stride);
  const int64_t room = p.in_width + p.pad - (p.kernel_width - 1) * p.dilation - 1;
  const Inner inner{begin, std::clamp<int64_t>(room < 0 ? 0 : room / p.stride + 1, begin, p.out_width)};
  int64_t c = p.channel_begin;
  for (; c + 4 * kLanes <= p.channel_end; c += 4 * kLanes) strip<A, 4>(row, c, inner);
  for (; c + 2 * kLanes <= p.channel_end; c += 2 * kLanes) strip<A, 2>(row, c, inner);
  for (; c + kLanes <= p.channel_end; c += kLanes) strip<A, 1>(row, c, inner);
  if (c < p.channel_end)
    for (int64_t o = 0; o < p.out_width; ++o) last_channels(p, o, c, taps_of(p, o));
}

void depthwise_row(const DepthwiseRow& p) {
  const float infinity = std::numeric_limits<float>::infinity();
  switch (p.activation) {
    case Activation::kNone: return whole_row<Kind::kClamp>({&p, -infinity, infinity});
    case Activation::kRelu: return whole_row<Kind::kClamp>({&p, 0, infinity});
    case Activation::kClip: return whole_row<Kind::kClamp>({&p, p.alpha, p.beta});
    case Activation::kHardSwish: return whole_row<Kind::kHardSwish>({&p, 0, 0});
    case Activation::kSilu: return whole_row<Kind::kSilu>({&p, 0, 0});
    default: return whole_row<Kind::kOther>({&p, 0, 0});
  }
}

}  // namespace
}  // namespace tutti::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::cpu {
HWY_EXPORT(depthwise_row);
namespace simd {
void depthwise_row(const DepthwiseRow& row) { HWY_DYNAMIC_DISPATCH(depthwise_row)(row); }
}  // namespace simd
}  // namespace tutti::cpu
#endif
