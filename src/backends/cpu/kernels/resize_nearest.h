// Resize that copies elements: nearest mode on any type of whole bytes.
#pragma once

#include "backends/cpu/kernels/common.h"
#include "ops/resize.h"

namespace tutti::cpu {

Result<std::unique_ptr<Kernel>> make_nearest(const ops::ResizeAttrs& attrs, const std::vector<ops::ResizeAxis>& plan,
                                             size_t bytes);

}  // namespace tutti::cpu
