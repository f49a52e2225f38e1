// com.microsoft's attention over shared key and value heads, with a cache that grows or is written in place.
#pragma once

#include <optional>
#include <string>

#include "ir/op_def.h"

namespace tutti::ops {

// GroupQueryAttention: query [B,S,N*D], or packed [B,S,(N+2M)*D] without key and value; key?, value? [B,S,M*D];
// past_key?, past_value? [B,M,P,D]; seqlens_k [B] (tokens in the cache after this step, minus one);
// total_sequence_length; cos_cache?, sin_cache? [max,R/2]; position_ids? [B,S] (of a first prompt, S = total, only
// the first counts: it is where every entry starts); attention_bias? [B or 1,N or 1,S,total]; head_sink? [N]; k_scale?,
// v_scale? (refused); q_norm_weight?, k_norm_weight? [D]; query_seqlens? [B].
// Outputs Y [B,S,N*D], present_key?, present_value? [B,M,max(P,total),D], output_qk? [B,N,S,total].
// Entry b has Q = query_seqlens[b], or min(S, seqlens_k[b] + 1), valid rows; later rows of Y are zeros. What lies in
// the cache beyond seqlens_k[b] + 1 is zeros.
struct GroupQueryAttentionAttrs : ir::AttrsOf<GroupQueryAttentionAttrs> {
  int64_t num_heads = 0, kv_num_heads = 0;
  bool causal = true, do_rotary = false, rotary_interleaved = false, sliding_window_cache = false,
       smooth_softmax = false;
  int64_t kv_cache_bit_width = 0, local_window_size = -1, qk_output = 0;
  float qk_norm_epsilon = 1e-6f, scale = 0, softcap = 0;  // scale 0: 1/sqrt(head size)
  std::optional<float> k_norm_epsilon, q_norm_epsilon;    // qk_norm_epsilon
  std::string k_quant_type = "NONE", v_quant_type = "NONE";
  void fields(ir::FieldVisitor& v) {
    v.field("num_heads", num_heads);
    v.field("kv_num_heads", kv_num_heads);
    v.field("causal", causal);
    v.field("do_rotary", do_rotary);
    v.field("rotary_interleaved", rotary_interleaved);
    v.field("sliding_window_cache", sliding_window_cache);
    v.field("smooth_softmax", smooth_softmax);
    v.field("kv_cache_bit_width", kv_cache_bit_width);
    v.field("local_window_size", local_window_size);
    v.field("qk_output", qk_output);
    v.field("qk_norm_epsilon", qk_norm_epsilon);
    v.field("scale", scale);
    v.field("softcap", softcap);
    v.field("k_norm_epsilon", k_norm_epsilon);
    v.field("q_norm_epsilon", q_norm_epsilon);
    v.field("k_quant_type", k_quant_type);
    v.field("v_quant_type", v_quant_type);
  }
};

extern const ir::OpDef kGroupQueryAttention;

}  // namespace tutti::ops
