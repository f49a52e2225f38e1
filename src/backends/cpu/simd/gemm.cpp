#include "backends/cpu/simd/gemm.h"

#include <algorithm>
#include <limits>

#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/gemm.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "backends/cpu/simd/gemm_tile-inl.h"
#include "backends/cpu/simd/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::cpu::HWY_NAMESPACE {
namespace {

template <Activation A>
void sweep_as(const GemmBlock& block, int64_t column, int64_t count) {
  const D d;
  const Epilogue& e = block.epilogue;
  for (int64_t r = 0; r < block.rows; ++r) {
    float* to = block.c + r * block.c_stride + column;
    const float* residual =
        e.residual == nullptr || e.residual_first ? nullptr : e.residual + r * e.residual_stride + column;
    for (int64_t j = 0; j < count; j += kLanes) {
      V y = vector_activation(d, load_some(to + j, count - j), A, e.alpha, e.beta);
      if (residual != nullptr) y = hn::Add(y, load_some(residual + j, count - j));
      store_some(y, to + j, count - j);
    }
  }
}

// The second sweep, for activations that need many registers.
void sweep(const GemmBlock& block, int64_t column, int64_t count) {
  switch (block.epilogue.activation) {
    case Activation::kSigmoid: return sweep_as<Activation::kSigmoid>(block, column, count);
    case Activation::kSilu: return sweep_as<Activation::kSilu>(block, column, count);
    case Activation::kLeakyRelu: return sweep_as<Activation::kLeakyRelu>(block, column, count);
    case Activation::kGeluErf: return sweep_as<Activation::kGeluErf>(block, column, count);
    case Activation::kGeluTanh: return sweep_as<Activation::kGeluTanh>(block, column, count);
    case Activation::kTanh: return sweep_as<Activation::kTanh>(block, column, count);
    case Activation::kElu: return sweep_as<Activation::kElu>(block, column, count);
    case Activation::kQuickGelu: return sweep_as<Activation::kQuickGelu>(block, column, count);
    default: return;  // done in registers
  }
}

Pass make_pass(const GemmBlock& block) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Epilogue& e = block.epilogue;
  Pass pass{&block, nullptr, 0, 0, true, false, InRegisters::kSweep, e.alpha, e.beta, false, false};
  switch (e.activation) {
    case Activation::kNone: pass.activation = InRegisters::kNone; break;
    case Activation::kRelu: pass.activation = InRegisters::kClamp, pass.low = 0, pass.high = infinity; break;
    case Activation::kClip: pass.activation = InRegisters::kClamp; break;
    case Activation::kHardSwish: pass.activation = InRegisters::kHardSwish; break;
    case Activation::kHardSigmoid: pass.activation = InRegisters::kHardSigmoid; break;
    default: break;
  }
  pass.residual_before = e.residual != nullptr && (e.residual_first || e.activation == Activation::kNone);
  pass.residual_after = e.residual != nullptr && !pass.residual_before && pass.activation != InRegisters::kSweep;
  return pass;
}

// Takes the columns from at.column on, NP panels at a time.
template <int MR, int NP>
void wide_tiles(const Pass& pass, Place& at, int64_t depth_begin) {
  const GemmBlock& block = *pass.block;
  const int64_t depth = block.taps * block.channels;
  while (block.column_end - at.column > (NP - 1) * kPanel) {
    at.count = std::min(NP * kPanel, block.column_end - at.column);
    wide_tile<MR, NP>(pass, at, block.packed_b + at.column * depth + depth_begin * kPanel, depth * kPanel);
    if (pass.last && pass.activation == InRegisters::kSweep) sweep(block, at.column, at.count);
    at.column += NP * kPanel;
  }
}

// All row tiles of one panel, whose slice starts at `panel`. The slice that comes next is fetched meanwhile: the tiles
// use one in turn, and only the first of them would wait for it.
void panel_tiles(const Pass& pass, Place at, const float* panel, const float* next) {
  const GemmBlock& block = *pass.block;
  // Equal tiles rather than full ones and a rest: 8 rows are 4 + 4, not 6 + 2.
  const int64_t tiles = (block.rows + kTileRows - 1) / kTileRows;
  constexpr int64_t kLines = std::max<int64_t>(1, kPanel / kLineFloats) * kFetchSteps;
  at.ahead_lines = (kLines + tiles - 1) / tiles;
  const int64_t tile_floats = (pass.depth + kFetchSteps - 1) / kFetchSteps * at.ahead_lines * kLineFloats;
  for (int64_t t = 0; t < tiles; ++t) {
    at.row = block.rows * t / tiles;
    at.ahead = next + t * tile_floats;
    const int64_t rows = block.rows * (t + 1) / tiles - at.row;
    (at.count > kLanes ? tile_for<2>(rows) : tile_for<1>(rows))(pass, at, panel);
  }
}

void run_pass(const Pass& pass, int64_t depth_begin) {
  const GemmBlock& block = *pass.block;
  const int64_t depth = block.taps * block.channels;
  Place at{0, block.column_begin, 0, nullptr, 0};
  // One panel alone gives few rows too few sums to hide the latency of an addition.
  if (block.rows == 1) wide_tiles<1, 4>(pass, at, depth_begin), wide_tiles<1, 2>(pass, at, depth_begin);
  if (block.rows == 2) wide_tiles<2, 2>(pass, at, depth_begin);
  if (block.rows == 3) wide_tiles<3, 2>(pass, at, depth_begin);
  for (; at.column < block.column_end; at.column += kPanel) {
    at.count = std::min(kPanel, block.column_end - at.column);
    const float* panel = block.packed_b + at.column * depth + depth_begin * kPanel;
    const bool last_panel = at.column + kPanel >= block.column_end && !pass.last;
    const float* next = last_panel ? block.packed_b + block.column_begin * depth + (depth_begin + pass.depth) * kPanel
                                   : panel + depth * kPanel;
    panel_tiles(pass, at, panel, next);
    if (pass.last && pass.activation == InRegisters::kSweep) sweep(block, at.column, at.count);
  }
}

// All of the depth for one group of columns, in passes of equal depth.
void run_group(const GemmBlock& block) {
  constexpr int kMaxSpans = 64;
  Span spans[kMaxSpans];
  Pass pass = make_pass(block);
  pass.spans = spans;
  int64_t tap = 0, channel = 0, done = 0;
  const int64_t depth = block.taps * block.channels;
  const int64_t passes = std::max<int64_t>(1, (depth + kMostDepth - 1) / kMostDepth);
  const int64_t pass_depth = (depth + passes - 1) / passes;
  do {
    const int64_t begin = done;
    pass.span_count = 0;
    while (done < depth && done - begin < pass_depth && pass.span_count < kMaxSpans) {
      const int64_t count = std::min(block.channels - channel, pass_depth - (done - begin));
      spans[pass.span_count++] = {tap, channel, count};
      done += count;
      channel += count;
      if (channel == block.channels) channel = 0, ++tap;
    }
    pass.depth = done - begin;
    pass.first = begin == 0;
    pass.last = done >= depth;
    run_pass(pass, begin);
  } while (done < depth);
}

// Groups of columns small enough for the partial sums to stay in the second-level cache between passes.
void gemm(const GemmBlock& block) {
  constexpr int64_t kGroup = 8 * kPanel;
  GemmBlock group = block;
  for (int64_t column = block.column_begin; column < block.column_end; column += kGroup) {
    group.column_begin = column;
    group.column_end = std::min(block.column_end, column + kGroup);
    run_group(group);
  }
}

int64_t panel_width() { return kPanel; }
int64_t tile_rows() { return kTileRows; }

}  // namespace
}  // namespace tutti::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::cpu {
HWY_EXPORT(gemm);
HWY_EXPORT(panel_width);
HWY_EXPORT(tile_rows);
namespace simd {

void gemm(const GemmBlock& block) { HWY_DYNAMIC_DISPATCH(gemm)(block); }
int64_t panel_width() { return HWY_DYNAMIC_DISPATCH(panel_width)(); }
int64_t tile_rows() { return HWY_DYNAMIC_DISPATCH(tile_rows)(); }

}  // namespace simd
}  // namespace tutti::cpu
#endif
