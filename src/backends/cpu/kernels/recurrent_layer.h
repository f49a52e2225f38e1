// An RNN, GRU or LSTM at concrete shapes: what the kernel's parts share.
#pragma once

#include <array>

#include "backends/cpu/kernels/common.h"
#include "backends/cpu/simd/recurrent.h"

namespace tutti::cpu {

struct RecurrentLayer {
  enum class Kind : uint8_t { kRnn, kGru, kLstm };
  Kind kind = Kind::kRnn;
  int64_t steps = 0, batch = 0, input = 0, hidden = 0, directions = 1, gates = 1;
  bool batch_first = false;
  bool reverse = false;      // of the first direction; the second one always is
  bool reset_after = false;  // GRU: linear_before_reset
  bool coupled = false;      // LSTM: input_forget
  float clip = 0;
  std::array<std::array<simd::GateActivation, 3>, 2> activations{};

  int64_t columns() const { return gates * hidden; }
  bool is_reverse(int64_t direction) const { return direction == 1 || reverse; }
  // A GRU that resets before the product multiplies its hidden gate apart.
  bool splits_state() const { return kind == Kind::kGru && !reset_after; }
  int64_t state_columns() const { return splits_state() ? 2 * hidden : columns(); }
  // Where the state of one sequence lies in initial_h, Y_h and their like, and where one step of it lies in X and Y.
  int64_t state_at(int64_t direction, int64_t sequence) const {
    return (batch_first ? sequence * directions + direction : direction * batch + sequence) * hidden;
  }
  int64_t input_at(int64_t step, int64_t sequence) const {
    return (batch_first ? sequence * steps + step : step * batch + sequence) * input;
  }
  int64_t output_at(int64_t step, int64_t direction, int64_t sequence) const {
    return (batch_first ? (sequence * steps + step) * directions + direction
                        : (step * directions + direction) * batch + sequence) *
           hidden;
  }
};

// The layer, or why the vector code cannot run it.
struct RecurrentQuery {
  std::optional<RecurrentLayer> layer;
  Refusal refusal;
};
RecurrentQuery recurrent_layer(const KernelQuery& query);

}  // namespace tutti::cpu
