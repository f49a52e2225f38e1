// Scaled dot-product attention as one operator (Vaswani et al., "Attention is all you need", 2017).
#pragma once

#include <optional>
#include <vector>

#include "ir/attrs.h"
#include "ir/op_def.h"

namespace tutti::ops {

// tutti.FusedAttention: inputs Q, K, V, bias?, second bias?, mask?.
//   scores = scale * Q K^T; softcap > 0: softcap * tanh(scores / softcap); + bias + second bias;
//   where the bool mask is false: masked_value; causal: -inf for keys after the query;
//   probabilities = softmax over keys, a row of NaN becoming zeros with zero_masked_rows; the output is probabilities
//   V.
// Q is read as [batch..., Sq, D], K as [batch..., Sk, D], V as [batch..., Sk, Dv]. From the tensor to that form,
// `select` (axis, index) first takes one slice of the tensor and drops the axis, then `perm` permutes what is left
// (empty: neither). out_perm permutes the result [batch..., Sq, Dv]. Batch axes broadcast as in MatMul; the last of
// them may be smaller for K and V (grouped-query heads). Biases and mask broadcast with [batch..., Sq, Sk].
struct FusedAttentionAttrs : ir::AttrsOf<FusedAttentionAttrs> {
  float scale = 1;
  float softcap = 0;
  std::optional<float> masked_value;  // absent: -inf
  bool causal = false;
  bool zero_masked_rows = false;
  std::vector<int64_t> q_select, q_perm, k_select, k_perm, v_select, v_perm, out_perm;

  void fields(ir::FieldVisitor& v) {
    v.field("scale", scale);
    v.field("softcap", softcap);
    v.field("masked_value", masked_value);
    v.field("causal", causal);
    v.field("zero_masked_rows", zero_masked_rows);
    v.field("q_select", q_select);
    v.field("q_perm", q_perm);
    v.field("k_select", k_select);
    v.field("k_perm", k_perm);
    v.field("v_select", v_select);
    v.field("v_perm", v_perm);
    v.field("out_perm", out_perm);
  }
};
extern const ir::OpDef kFusedAttention;

// The inputs' places.
enum AttentionInput : size_t { kAttentionQ, kAttentionK, kAttentionV, kAttentionBias, kAttentionBias2, kAttentionMask };

}  // namespace tutti::ops
