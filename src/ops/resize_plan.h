// Concrete extents and coordinates of one Resize, between its rule and its kernel.
#pragma once

#include "ops/resize.h"

namespace tutti::ops {

Result<std::vector<int64_t>> resized_axes(const ResizeAttrs& attrs, int64_t rank);
// One entry per axis of X; axes that are not resized have equal extents and scale 1.
Result<std::vector<ResizeAxis>> plan_resize(const ir::EvalContext& context);
Status eval_resize(ir::EvalContext& context);

}  // namespace tutti::ops
