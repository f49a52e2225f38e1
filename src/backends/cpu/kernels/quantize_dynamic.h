// DynamicQuantizeLinear: a float32 tensor to uint8 with a scale that covers its range.
#pragma once

#include "backends/cpu/kernels/common.h"
#include "backends/cpu/simd/quantize.h"

namespace tutti::cpu {

struct DynamicQuantize {
  int64_t count = 0;

  size_t workspace() const;
  // Fills `dst` (null: not wanted) and returns the scale and the zero point.
  simd::Quant8 run(ThreadPool& threads, const float* src, float* workspace, uint8_t* dst) const;
};

}  // namespace tutti::cpu
