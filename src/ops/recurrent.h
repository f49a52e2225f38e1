// Recurrent layers: RNN, GRU, LSTM.
#pragma once

#include <array>
#include <string>

#include "ir/op_def.h"

namespace tutti::ops {

enum class Direction : uint8_t { kForward, kReverse, kBidirectional };
inline constexpr std::array<std::string_view, 3> kDirectionNames{"forward", "reverse", "bidirectional"};

// The attributes that all three have. Empty lists and absent values stand for ONNX's defaults.
struct RecurrentAttrs {
  std::vector<float> activation_alpha, activation_beta;
  std::vector<std::string> activations;
  std::optional<float> clip;
  Direction direction = Direction::kForward;
  std::optional<int64_t> hidden_size;
  int64_t layout = 0;  // 1: batch first
  void recurrent_fields(ir::FieldVisitor& v) {
    v.field("activation_alpha", activation_alpha);
    v.field("activation_beta", activation_beta);
    v.field("activations", activations);
    v.field("clip", clip);
    v.choice("direction", direction, kDirectionNames);
    v.field("hidden_size", hidden_size);
    v.field("layout", layout);
  }
  int64_t directions() const { return direction == Direction::kBidirectional ? 2 : 1; }
};

struct RnnAttrs : ir::AttrsOf<RnnAttrs>, RecurrentAttrs {
  void fields(ir::FieldVisitor& v) { recurrent_fields(v); }
};

struct GruAttrs : ir::AttrsOf<GruAttrs>, RecurrentAttrs {
  bool linear_before_reset = false;
  void fields(ir::FieldVisitor& v) {
    recurrent_fields(v);
    v.field("linear_before_reset", linear_before_reset);
  }
};

struct LstmAttrs : ir::AttrsOf<LstmAttrs>, RecurrentAttrs {
  bool input_forget = false;
  void fields(ir::FieldVisitor& v) {
    recurrent_fields(v);
    v.field("input_forget", input_forget);
  }
};

extern const ir::OpDef kRNN, kGRU, kLSTM;

}  // namespace tutti::ops
