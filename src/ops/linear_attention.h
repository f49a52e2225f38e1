// Attention with a recurrent state: LinearAttention, and the CausalConvWithState that stands before it.
#pragma once

#include <array>

#include "ir/op_def.h"

namespace tutti::ops {

enum class UpdateRule : uint8_t { kLinear, kGated, kDelta, kGatedDelta };
inline constexpr std::array<std::string_view, 4> kUpdateRuleNames{"linear", "gated", "delta", "gated_delta"};

// query [B,T,Hq*Dk], key [B,T,Hkv*Dk], value [B,T,Hkv*Dv], past_state? [B,Hkv,Dk,Dv], decay?, beta?; outputs
// [B,T,Hq*Dv], present_state.
struct LinearAttentionAttrs : ir::AttrsOf<LinearAttentionAttrs> {
  int64_t chunk_size = 64, kv_num_heads = 0, q_num_heads = 0;
  float scale = 0;  // 0: 1/sqrt(Dk)
  UpdateRule update_rule = UpdateRule::kGatedDelta;
  void fields(ir::FieldVisitor& v) {
    v.field("chunk_size", chunk_size);
    v.field("kv_num_heads", kv_num_heads);
    v.field("q_num_heads", q_num_heads);
    v.field("scale", scale);
    v.choice("update_rule", update_rule, kUpdateRuleNames);
  }
};

enum class StateActivation : uint8_t { kNone, kSilu, kSwish };
inline constexpr std::array<std::string_view, 3> kStateActivationNames{"none", "silu", "swish"};

// input [B,C,L], weight [C,1,k], bias? [C], past_state? [B,C,k-1]; outputs [B,C,L], present_state [B,C,k-1].
struct CausalConvWithStateAttrs : ir::AttrsOf<CausalConvWithStateAttrs> {
  StateActivation activation = StateActivation::kNone;
  void fields(ir::FieldVisitor& v) { v.choice("activation", activation, kStateActivationNames); }
};

extern const ir::OpDef kLinearAttention, kCausalConvWithState;

}  // namespace tutti::ops
