// A fast 64-bit hash of a tensor's type, dims and elements: for finding equal constants and for showing which one it
// is. Equal tensors hash equal; different ones may collide (compare with identical()). Not stable across versions.
#pragma once

#include "ir/tensor.h"

namespace tutti::ir {

uint64_t content_hash(const Tensor& tensor);

}  // namespace tutti::ir
