// The products that MatMul, Gemm, Einsum and others share, for every element type.
#pragma once

#include <span>

#include "ir/tensor.h"
#include "ops/reference_gemm.h"

namespace tutti::ops {

// Offsets of each matrix of a batch in an operand whose batch dims broadcast to `batch`, in elements.
std::vector<int64_t> batch_offsets(const ir::Dims& operand_batch, const ir::Dims& batch, int64_t matrix_size);

// Strides in elements of a matrix operand that may be transposed.
struct MatrixLayout {
  int64_t row_stride = 0, column_stride = 0;
};

inline void multiply(GemmSize size, const float* a, MatrixLayout la, const float* b, MatrixLayout lb, float* c,
                     int64_t c_stride) {
  reference_gemm(size, {a, la.row_stride, la.column_stride}, {b, lb.row_stride, lb.column_stride},
                 {c, c_stride, false});
}

// double and the unsigned integers (signed ones by their bits: sums wrap around either way).
template <class T>
void multiply(GemmSize size, const T* a, MatrixLayout la, const T* b, MatrixLayout lb, T* c, int64_t c_stride) {
  for (int64_t i = 0; i < size.m; ++i) {
    T* row = c + i * c_stride;
    for (int64_t j = 0; j < size.n; ++j) row[j] = T(0);
    for (int64_t p = 0; p < size.k; ++p) {
      const T factor = a[i * la.row_stride + p * la.column_stride];
      const T* from = b + p * lb.row_stride;
      for (int64_t j = 0; j < size.n; ++j) row[j] = static_cast<T>(row[j] + factor * from[j * lb.column_stride]);
    }
  }
}

}  // namespace tutti::ops
