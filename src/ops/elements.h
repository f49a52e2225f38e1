// Moving elements between tensors without a template per type: loads and stores through the widest type of a kind,
// plain copies, slices and joins.
#pragma once

#include <cstdint>
#include <span>

#include "base/error.h"
#include "ir/tensor.h"

namespace tutti::ops {

inline constexpr int64_t kBlock = 256;  // elements that pointwise kernels hold on the stack

// dst[k] = src[begin + k*stride] for k < count. C is double (any numeric type), int64_t or uint64_t (integers and bool;
// by bits at 64 bits).
template <class C>
void load_block(const ir::Tensor& src, int64_t begin, int64_t stride, int64_t count, C* dst);
// dst[begin + k] = src[k]. Doubles round to nearest even (small floats saturate); integers wrap; bool stores "not
// zero".
template <class C>
void store_block(ir::Tensor& dst, int64_t begin, int64_t count, const C* src);

// dst[dst_begin + k] = src[src_begin + k*src_stride] for k < count; equal types, any of them (strings, packed,
// complex).
void copy_run(ir::Tensor& dst, int64_t dst_begin, const ir::Tensor& src, int64_t src_begin, int64_t src_stride,
              int64_t count);
inline void copy_element(ir::Tensor& dst, int64_t dst_index, const ir::Tensor& src, int64_t src_index) {
  copy_run(dst, dst_index, src, src_index, 1, 1);
}
// dst[begin + k] = value[index] for k < count.
inline void fill_run(ir::Tensor& dst, int64_t begin, int64_t count, const ir::Tensor& value, int64_t index = 0) {
  copy_run(dst, begin, value, index, 0, count);
}

// The slice `index` along `axis` (non-negative, in bounds), with that axis removed.
ir::Tensor slice_at(const ir::Tensor& src, int64_t axis, int64_t index);

// The elements [start, start + length) along `axis`, which must be in bounds.
ir::Tensor slice_range(const ir::Tensor& src, int64_t axis, int64_t start, int64_t length);

// Tensors of equal type and dims stacked along a new axis (in [-rank-1, rank]). At least one part.
Result<ir::Tensor> stack_tensors(std::span<const ir::Tensor> parts, int64_t axis);

// Tensors of equal type, joined along `axis`, whose other dims must agree. At least one part.
Result<ir::Tensor> concat_tensors(std::span<const ir::Tensor> parts, int64_t axis);

}  // namespace tutti::ops
