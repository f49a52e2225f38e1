// Scaled dot-product attention and rotary position embedding (Vaswani et al., 2017; Su et al., 2021).
#pragma once

#include <optional>

#include "ir/op_def.h"

namespace tutti::ops {

// Attention: Q, K, V [B,heads,S,D] or [B,S,heads*D], mask?, past_key?, past_value?, nonpad_kv_seqlen?;
// outputs Y, present_key?, present_value?, qk_matmul_output?. Key/value heads may be fewer than query heads
// (grouped-query).
struct AttentionAttrs : ir::AttrsOf<AttentionAttrs> {
  bool is_causal = false;
  std::optional<int64_t> q_num_heads, kv_num_heads;
  std::optional<float> scale;
  float softcap = 0;
  std::optional<int64_t> softmax_precision;
  int64_t qk_matmul_output_mode = 0;  // 0: products, 1: after the cap, 2: after the mask, 3: probabilities
  void fields(ir::FieldVisitor& v) {
    v.field("is_causal", is_causal);
    v.field("q_num_heads", q_num_heads);
    v.field("kv_num_heads", kv_num_heads);
    v.field("scale", scale);
    v.field("softcap", softcap);
    v.field("softmax_precision", softmax_precision);
    v.field("qk_matmul_output_mode", qk_matmul_output_mode);
  }
};

// RotaryEmbedding: X [B,heads,S,D] or [B,S,heads*D], cos, sin [max,R/2] with position_ids [B,S], or [B,S,R/2] without.
struct RotaryEmbeddingAttrs : ir::AttrsOf<RotaryEmbeddingAttrs> {
  bool interleaved = false;
  int64_t rotary_embedding_dim = 0;  // R; 0: the head's size
  int64_t num_heads = 0;             // for the 3-D form
  void fields(ir::FieldVisitor& v) {
    v.field("interleaved", interleaved);
    v.field("rotary_embedding_dim", rotary_embedding_dim);
    v.field("num_heads", num_heads);
  }
};

extern const ir::OpDef kAttention, kRotaryEmbedding;

}  // namespace tutti::ops
