// Matrices of 4-byte elements transposed: between channels-first and channels-last, and the core of Transpose.
#pragma once

#include "backends/cpu/kernels/common.h"

namespace tutti::cpu {

// dst[b][c][r] = src[b][r][c] for batches of rows x columns matrices of `bytes` (1, 2, 4 or 8) wide elements.
struct MatrixBatch {
  int64_t batch = 1, rows = 0, columns = 0;
};
void transpose_matrices(ThreadPool& threads, const MatrixBatch& shape, size_t bytes, const void* src, void* dst);

}  // namespace tutti::cpu
