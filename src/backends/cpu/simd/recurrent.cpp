#include "backends/cpu/simd/recurrent.h"

#include <algorithm>

#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/recurrent.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "backends/cpu/simd/lanes-inl.h"
#include "backends/cpu/simd/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::cpu::HWY_NAMESPACE {
namespace {

using simd::GateActivation;
using simd::GateRow;
using simd::RowProduct;

// --- row_product

// Four panels at a time: eight sums hide the latency of the multiplications.
void four_panels(const RowProduct& p, const float* panel, V* sums) {
  const D d;
  const int64_t step = p.depth * 2 * kLanes;
  V s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
  for (int64_t k = 0; k < p.depth; ++k) {
    const V x = hn::Set(d, p.x[k]);
    const float* at = panel + k * 2 * kLanes;
    s0 = hn::MulAdd(x, hn::LoadU(d, at), s0);
    s1 = hn::MulAdd(x, hn::LoadU(d, at + kLanes), s1);
    s2 = hn::MulAdd(x, hn::LoadU(d, at + step), s2);
    s3 = hn::MulAdd(x, hn::LoadU(d, at + step + kLanes), s3);
    s4 = hn::MulAdd(x, hn::LoadU(d, at + 2 * step), s4);
    s5 = hn::MulAdd(x, hn::LoadU(d, at + 2 * step + kLanes), s5);
    s6 = hn::MulAdd(x, hn::LoadU(d, at + 3 * step), s6);
    s7 = hn::MulAdd(x, hn::LoadU(d, at + 3 * step + kLanes), s7);
  }
  sums[0] = s0, sums[1] = s1, sums[2] = s2, sums[3] = s3;
  sums[4] = s4, sums[5] = s5, sums[6] = s6, sums[7] = s7;
}

void one_panel(const RowProduct& p, const float* panel, V* sums) {
  const D d;
  V s0 = hn::Zero(d), s1 = s0;
  for (int64_t k = 0; k < p.depth; ++k) {
    const V x = hn::Set(d, p.x[k]);
    s0 = hn::MulAdd(x, hn::LoadU(d, panel + k * 2 * kLanes), s0);
    s1 = hn::MulAdd(x, hn::LoadU(d, panel + k * 2 * kLanes + kLanes), s1);
  }
  sums[0] = s0, sums[1] = s1;
}

void row_product(const RowProduct& p, float* dst) {
  V sums[8];
  int64_t column = p.begin;
  while (column < p.end) {
    const bool four = p.end - column > 6 * kLanes;
    (four ? four_panels : one_panel)(p, p.packed + column * p.depth, sums);
    const int64_t last = std::min(p.end, column + (four ? 8 : 2) * kLanes);
    for (int i = 0; column < last; ++i, column += kLanes) {
      const int64_t count = p.end - column;
      const V sum = p.bias ? hn::Add(sums[i], get(p.bias + column, count)) : sums[i];
      set(sum, dst + column, count);
    }
    column = last;
  }
}

// --- gates

HWY_NOINLINE V activate(const GateActivation& activation, float clip, V x) {
  const D d;
  const V bounded = clamp_keeping_nan(hn::Set(d, -clip), hn::Set(d, clip), x);
  return vector_activation(d, bounded, activation.kind, activation.alpha, activation.beta);
}

// Gate `which` before its activation.
HWY_INLINE V gate(const GateRow& row, int64_t which, int64_t i) {
  const int64_t at = which * row.hidden + i, count = row.hidden - i;
  return hn::Add(get(row.input + at, count), get(row.state + at, count));
}

void rnn_gate(const GateRow& row, float* h) {
  for (int64_t i = 0; i < row.hidden; i += kLanes)
    set(activate(row.activations[0], row.clip, gate(row, 0, i)), h + i, row.hidden - i);
}

void lstm_gates(const GateRow& row, bool coupled, float* c, float* h) {
  const D d;
  const GateActivation *outer = row.activations, *inner = outer + 1, *last = outer + 2;
  for (int64_t i = 0; i < row.hidden; i += kLanes) {
    const int64_t count = row.hidden - i;
    const V in = activate(*outer, row.clip, gate(row, 0, i));
    const V forget = coupled ? hn::Sub(hn::Set(d, 1.0f), in) : activate(*outer, row.clip, gate(row, 2, i));
    const V cell = hn::MulAdd(forget, get(c + i, count), hn::Mul(in, activate(*inner, row.clip, gate(row, 3, i))));
    const V out = activate(*outer, row.clip, gate(row, 1, i));
    set(cell, c + i, count);
    set(hn::Mul(out, vector_activation(d, cell, last->kind, last->alpha, last->beta)), h + i, count);
  }
}

void gru_reset(const GateRow& row, const float* h, float* gated) {
  for (int64_t i = 0; i < row.hidden; i += kLanes) {
    const int64_t count = row.hidden - i;
    set(hn::Mul(activate(row.activations[0], row.clip, gate(row, 1, i)), get(h + i, count)), gated + i, count);
  }
}

void gru_gates(const GateRow& row, const float* gated_state, float* h) {
  const D d;
  for (int64_t i = 0; i < row.hidden; i += kLanes) {
    const int64_t count = row.hidden - i, at = 2 * row.hidden + i;
    const V update = activate(row.activations[0], row.clip, gate(row, 0, i));
    const V recurrent =
        gated_state ? get(gated_state + i, count)
                    : hn::Mul(activate(row.activations[0], row.clip, gate(row, 1, i)), get(row.state + at, count));
    const V fresh = activate(row.activations[1], row.clip, hn::Add(get(row.input + at, count), recurrent));
    const V kept = hn::Mul(update, get(h + i, count));
    set(hn::MulAdd(hn::Sub(hn::Set(d, 1.0f), update), fresh, kept), h + i, count);
  }
}

}  // namespace
}  // namespace tutti::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::cpu {
HWY_EXPORT(row_product);
HWY_EXPORT(rnn_gate);
HWY_EXPORT(lstm_gates);
HWY_EXPORT(gru_reset);
HWY_EXPORT(gru_gates);
namespace simd {

void row_product(const RowProduct& product, float* dst) { HWY_DYNAMIC_DISPATCH(row_product)(product, dst); }
void rnn_gate(const GateRow& row, float* h) { HWY_DYNAMIC_DISPATCH(rnn_gate)(row, h); }
void lstm_gates(const GateRow& row, bool coupled, float* c, float* h) {
  HWY_DYNAMIC_DISPATCH(lstm_gates)(row, coupled, c, h);
}
void gru_reset(const GateRow& row, const float* h, float* gated) { HWY_DYNAMIC_DISPATCH(gru_reset)(row, h, gated); }
void gru_gates(const GateRow& row, const float* gated_state, float* h) {
  HWY_DYNAMIC_DISPATCH(gru_gates)(row, gated_state, h);
}

}  // namespace simd
}  // namespace tutti::cpu
#endif
