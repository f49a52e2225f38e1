// Scaled dot-product attention on packed heads, for com.microsoft's operators.
#pragma once

#include <span>
#include <vector>

#include "ir/op_def.h"

namespace tutti::ops {

// [batch, heads, length, size] in row-major order.
struct HeadBlock {
  int64_t batch = 0, heads = 0, length = 0, size = 0;
  std::vector<float> data;
};

// Where the elements of a head block lie in a tensor.
struct HeadLayout {
  int64_t offset = 0, batch_stride = 0, head_stride = 0, row_stride = 0;
};
// `block` says the extents; its data is filled. `bias`, when not empty, is [heads * size] and added.
void gather_heads(const float* from, HeadLayout layout, std::span<const float> bias, HeadBlock& block);

// The cache (tensor [B,N,P,D] at `past`, P may be 0) followed by `fresh`.
HeadBlock append_heads(const float* past, int64_t past_length, const HeadBlock& fresh);

// What is added to the scores: com.microsoft's masks and biases.
struct ContribMask {
  const ir::Tensor* mask = nullptr;  // int32: [B] lengths, [2B] ends and starts, [B,T], [B,S,T] or [B,1,M,M]
  const ir::Tensor* bias = nullptr;  // [B or 1, N or 1, S, T]
  float filter = -10000;
  bool causal = false;
  int64_t past_length = 0;
};
Status check_mask(const ContribMask& mask, const HeadBlock& q, const HeadBlock& k);
// Y [B, S, N * Dv] = softmax(scale * Q K^T + mask) V; the blocks agree in batch, heads and lengths.
void attend_heads(const HeadBlock& q, const HeadBlock& k, const HeadBlock& v, float scale, const ContribMask& mask,
                  float* y);

}  // namespace tutti::ops
