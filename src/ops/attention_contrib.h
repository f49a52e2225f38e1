// com.microsoft's attention operators.
#pragma once

#include "ir/op_def.h"

namespace tutti::ops {

// MultiHeadAttention: query, key?, value?, bias?, key_padding_mask?, attention_bias?, past_key?, past_value?;
// outputs Y, present_key?, present_value?. query may be packed [B,S,N,3,D] and key packed [B,T,N,2,D].
struct MultiHeadAttentionAttrs : ir::AttrsOf<MultiHeadAttentionAttrs> {
  float mask_filter_value = -10000, scale = 0;  // scale 0: 1/sqrt(head size)
  int64_t num_heads = 0;
  bool unidirectional = false;
  void fields(ir::FieldVisitor& v) {
    v.field("mask_filter_value", mask_filter_value);
    v.field("num_heads", num_heads);
    v.field("scale", scale);
    v.field("unidirectional", unidirectional);
  }
};

// Attention: input [B,S,H], weights [H,Hq+Hk+Hv], bias?, mask_index?, past? [2,B,N,P,D], attention_bias?; outputs Y,
// present?.
struct ContribAttentionAttrs : ir::AttrsOf<ContribAttentionAttrs> {
  bool do_rotary = false, past_present_share_buffer = false, unidirectional = false;
  float mask_filter_value = -10000, scale = 0;
  int64_t num_heads = 0, rotary_embedding_dim = 0;
  std::vector<int64_t> qkv_hidden_sizes;  // empty: thirds
  void fields(ir::FieldVisitor& v) {
    v.field("do_rotary", do_rotary);
    v.field("mask_filter_value", mask_filter_value);
    v.field("num_heads", num_heads);
    v.field("past_present_share_buffer", past_present_share_buffer);
    v.field("qkv_hidden_sizes", qkv_hidden_sizes);
    v.field("rotary_embedding_dim", rotary_embedding_dim);
    v.field("scale", scale);
    v.field("unidirectional", unidirectional);
  }
};

// RotaryEmbedding: input [B,S,N*D] or [B,N,S,D], position_ids [1] or [B,S], cos_cache, sin_cache [max,R/2].
struct ContribRotaryEmbeddingAttrs : ir::AttrsOf<ContribRotaryEmbeddingAttrs> {
  bool interleaved = false, is_packed_batching = false;
  int64_t num_heads = 0, rotary_embedding_dim = 0;
  float scale = 1;
  void fields(ir::FieldVisitor& v) {
    v.field("interleaved", interleaved);
    v.field("is_packed_batching", is_packed_batching);
    v.field("num_heads", num_heads);
    v.field("rotary_embedding_dim", rotary_embedding_dim);
    v.field("scale", scale);
  }
};

extern const ir::OpDef kMultiHeadAttention, kContribAttention, kContribRotaryEmbedding;

}  // namespace tutti::ops
