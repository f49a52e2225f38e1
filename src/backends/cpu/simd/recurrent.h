// The steps of recurrent layers on float32, for one thread: the product of one state with packed weights, and the
// gates of one sequence.
#pragma once

#include <cstdint>
#include <limits>

#include "ops/fused.h"

namespace tutti::cpu::simd {

// dst[j] = bias[j] + sum over k of x[k] * b(k, j) for columns [begin, end); `packed` by pack_b, begin a multiple of the
// panel width, bias null for none. Every column is summed in one fixed order.
struct RowProduct {
  const float* x = nullptr;
  int64_t depth = 0;
  const float* packed = nullptr;
  int64_t begin = 0, end = 0;
  const float* bias = nullptr;
};
void row_product(const RowProduct& product, float* dst);

struct GateActivation {
  ops::Activation kind = ops::Activation::kNone;
  float alpha = 0, beta = 0;
};

// What the gates of one step of one sequence are made from. Gates lie one after the other, `hidden` each.
struct GateRow {
  const float* input = nullptr;  // W x + bias
  const float* state = nullptr;  // R h
  int64_t hidden = 0;
  const GateActivation* activations = nullptr;
  float clip = std::numeric_limits<float>::infinity();  // bounds what the activations are applied to
};

void rnn_gate(const GateRow& row, float* h);
// Gates: input, output, forget, cell. `coupled`: the forget gate is one minus the input gate.
void lstm_gates(const GateRow& row, bool coupled, float* c, float* h);
// Gates: update, reset, hidden. gated = reset * h, for layers that reset before the product.
void gru_reset(const GateRow& row, const float* h, float* gated);
// `gated_state` is R * gated of the hidden gate; null for layers that reset after the product.
void gru_gates(const GateRow& row, const float* gated_state, float* h);

}  // namespace tutti::cpu::simd
