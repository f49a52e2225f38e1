// Reads any numeric tensor as real numbers: complex tensors as pairs.
#pragma once

#include <cstdint>

#include "ir/tensor.h"

namespace tutti::ops {

// Immutable; the tensor outlives it.
struct RealReader {
  explicit RealReader(const ir::Tensor& read)
      : tensor(read), floats(read.dtype() == ir::DType::kFloat32 ? read.data<float>().data() : nullptr) {}
  const ir::Tensor& tensor;
  const float* floats;  // null for other types
  double operator()(int64_t i) const {
    if (floats) return floats[i];
    if (tensor.dtype() == ir::DType::kComplex64) return static_cast<const float*>(tensor.raw())[i];
    if (tensor.dtype() == ir::DType::kComplex128) return static_cast<const double*>(tensor.raw())[i];
    return tensor.get_double(i);
  }
  int64_t size() const { return ir::is_complex(tensor.dtype()) ? 2 * tensor.size() : tensor.size(); }
};

}  // namespace tutti::ops
