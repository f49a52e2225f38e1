// Copies elements between tensors of one type without knowing the type: whole bytes, packed elements and strings alike.
#pragma once

#include <span>

#include "base/error.h"
#include "ir/tensor.h"

namespace tutti::ops {

// dst[dst_start + i] = src[src_start + i] for i < count. The types must be equal and the ranges inside both tensors.
void copy_elements(const ir::Tensor& src, int64_t src_start, ir::Tensor& dst, int64_t dst_start, int64_t count);

// The slice `index` along `axis` (non-negative, in bounds), with that axis removed.
ir::Tensor slice_at(const ir::Tensor& src, int64_t axis, int64_t index);

// The elements [start, start + length) along `axis`, which must be in bounds.
ir::Tensor slice_range(const ir::Tensor& src, int64_t axis, int64_t start, int64_t length);

// Tensors of equal type and dims stacked along a new axis (in [-rank-1, rank]). At least one part.
Result<ir::Tensor> stack_tensors(std::span<const ir::Tensor> parts, int64_t axis);

// Tensors of equal type, joined along `axis`, whose other dims must agree. At least one part.
Result<ir::Tensor> concat_tensors(std::span<const ir::Tensor> parts, int64_t axis);

}  // namespace tutti::ops
