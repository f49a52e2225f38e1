// Copies between row-major and strided tensors of elements of any width: what transposing, slicing, expanding and
// tiling come down to.
#pragma once

#include "backends/cpu/kernels/broadcast_plan.h"

namespace tutti::cpu {

// dst[i...] = src[offset + sum of i * strides], dst row-major. Elements are 1, 2, 4, 8 or 16 bytes wide. Immutable.
class StridedCopy {
 public:
  StridedCopy(const Dims& dims, const Dims& strides, int64_t offset, size_t bytes)
      : plan_(BroadcastPlan::strided(dims, {strides})), offset_(offset), bytes_(bytes) {}

  void run(ThreadPool& threads, const void* src, void* dst) const;

 private:
  BroadcastPlan plan_;
  int64_t offset_;
  size_t bytes_;
};

// Memory that one row of blocks is copied to: `rows` blocks of `bytes`, each at its own stride.
struct BlockCopy {
  int64_t rows = 0;
  size_t bytes = 0, src_stride = 0, dst_stride = 0;
};
void copy_blocks(ThreadPool& threads, const BlockCopy& shape, const void* src, void* dst);

}  // namespace tutti::cpu
