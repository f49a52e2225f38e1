// Tensors of int64 or int32 indices, and their check: indices are data, and an error must leave no thread running.
#pragma once

#include "backends/cpu/kernels/common.h"

namespace tutti::cpu {

struct IndexView {
  const void* data = nullptr;
  bool wide = false;  // int64

  int64_t operator[](int64_t i) const {
    return wide ? static_cast<const int64_t*>(data)[i] : static_cast<const int32_t*>(data)[i];
  }
  // An index into an axis of `size`, which was checked.
  int64_t within(int64_t i, int64_t size) const {
    const int64_t index = (*this)[i];
    return index < 0 ? index + size : index;
  }
};

inline std::optional<Refusal> refuse_unless_index(DType type) {
  if (type == DType::kInt64 || type == DType::kInt32) return std::nullopt;
  return "indices are neither int64 nor int32";
}

// An error unless every index lies in [-size, size); `sizes` repeats over the last dimension of the indices.
inline Status check_indices(const IndexView& indices, int64_t count, const Dims& sizes) {
  for (int64_t i = 0; i < count; ++i) {
    const int64_t size = sizes[static_cast<size_t>(i) % sizes.size()];
    if (indices[i] < -size || indices[i] >= size)
      return make_error(Code::kInvalidInput, "index {} at position {} is out of bounds; expected {} to {}", indices[i],
                        i, -size, size - 1);
  }
  return ok_status();
}

}  // namespace tutti::cpu
