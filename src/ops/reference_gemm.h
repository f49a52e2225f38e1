// The matrix product of the reference kernels: blocked and vectorised, on one thread. Its bits depend on the sizes
// only: neither the processor nor the instruction set changes them, because products and sums round separately.
#pragma once

#include <cstdint>

namespace tutti::ops {

// A matrix as a pointer and two strides in elements, so that transposed operands need no copy.
struct GemmOperand {
  const float* data = nullptr;
  int64_t row_stride = 0;
  int64_t column_stride = 0;
};

struct GemmSize {
  int64_t m = 0, n = 0, k = 0;
};

// c[m,n] = a[m,k] * b[k,n]; rows of `c` are `c_stride` elements apart. With `accumulate` the product is added to what
// `c` holds.
struct GemmTarget {
  float* data = nullptr;
  int64_t row_stride = 0;
  bool accumulate = false;
};
void reference_gemm(GemmSize size, GemmOperand a, GemmOperand b, GemmTarget c);

}  // namespace tutti::ops
