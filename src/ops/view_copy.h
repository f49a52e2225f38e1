// Copies behind the view operators.
#pragma once

#include <vector>

#include "ir/tensor.h"

namespace tutti::ops {

// out[i0, i1, ...] = src.flat[base + sum(i_k * strides_k)]; strides may be 0 or negative.
void strided_copy(ir::Tensor& out, const ir::Tensor& src, int64_t base, const ir::Dims& strides);

// out[i0, i1, ...] = src[maps[0][i0], maps[1][i1], ...]; where a map has -1 the element is `fill`'s (rank 0).
void mapped_copy(ir::Tensor& out, const ir::Tensor& src, const std::vector<std::vector<int64_t>>& maps,
                 const ir::Tensor& fill);

// A scalar of zero bits, or the empty string.
ir::Tensor zero_scalar(ir::DType dtype);

}  // namespace tutti::ops
