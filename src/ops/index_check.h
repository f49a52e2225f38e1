// Indices are data: each one is checked before it is used.
#pragma once

#include <vector>

#include "base/error.h"
#include "ir/tensor.h"

namespace tutti::ops {

// `index` in [-size, size) made non-negative, or an InvalidInput error naming both.
Result<int64_t> checked_index(int64_t index, int64_t size);
// All elements of an integer tensor.
Result<std::vector<int64_t>> checked_indices(const ir::Tensor& indices, int64_t size);
// The dims that index tensors of GatherElements and ScatterElements may have: data's rank, and no more than data's off
// the axis.
Status check_index_dims(const ir::Tensor& indices, const ir::Tensor& data, size_t axis);

}  // namespace tutti::ops
