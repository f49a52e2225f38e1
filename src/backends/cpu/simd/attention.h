// Attention of a block of queries over all keys of one head, for one thread: the softmax is kept up while blocks of
// keys go by (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018; Dao et al., "FlashAttention",
// 2022), so that no matrix of scores is stored. Every query is one vector lane, and its numbers are computed in one
// order whatever its neighbours are.
#pragma once

#include <cstdint>

namespace tutti::cpu::simd {

// Element (row, column) at data[row * row_stride + column * column_stride].
template <class T>
struct StridedRows {
  T* data = nullptr;
  int64_t row_stride = 0, column_stride = 0;
};

struct AttentionBlock {
  StridedRows<const float> q, k, v;  // queries x size, keys x size, keys x value_size
  StridedRows<float> dst;            // queries x value_size
  int64_t queries = 0;               // at most attention_queries()
  int64_t keys = 0, size = 0, value_size = 0;
  int64_t first_query = 0;             // its place in the sequence, for causal
  StridedRows<const float> biases[2];  // queries x keys; null: none
  StridedRows<const bool> mask;        // queries x keys; null: none
  float masked_value = 0;              // replaces scores where the mask is false
  float scale = 1, softcap = 0;        // softcap 0: none
  bool causal = false;                 // keys after the query are hidden
  bool zero_masked_rows = false;       // a row without a finite softmax gives zeros, not NaN
};

inline constexpr int64_t kMaxAttentionSize = 512;  // of size and value_size: what a thread's stack holds
// How many queries make a block: more of them share each block of keys.
inline constexpr int64_t attention_queries(int64_t size, int64_t value_size) {
  return size <= 256 && value_size <= 256 ? 64 : 32;
}

// Uses some 200 KiB of stack.
void attention(const AttentionBlock& block);

}  // namespace tutti::cpu::simd
