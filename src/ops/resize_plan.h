// Concrete extents and coordinates of one Resize, between its rule and its kernel.
#pragma once

#include "ops/resize.h"

namespace tutti::ops {

Result<std::vector<int64_t>> resized_axes(const ResizeAttrs& attrs, int64_t rank);

// Null where absent.
struct ResizeInputs {
  const ir::Tensor *roi = nullptr, *scales = nullptr, *sizes = nullptr;
};
// One entry per axis of X; axes that are not resized have equal extents and scale 1.
Result<std::vector<ResizeAxis>> plan_resize(const ResizeAttrs& attrs, const ir::Dims& dims, const ResizeInputs& inputs);

// The axis comes out as it went in.
bool is_identity(const ResizeAttrs& attrs, const ResizeAxis& axis);

// What one output position reads along one axis.
struct ResizeTaps {
  std::vector<int64_t> positions;  // clamped to the input
  std::vector<double> weights;
  bool extrapolated = false;  // outside the region: the extrapolation value stands instead
};
ResizeTaps resize_taps(const ResizeAttrs& attrs, const ResizeAxis& axis, int64_t o);

// Nearest mode outside of tf_crop_and_resize: whole elements of any type are copied.
bool copies_elements(const ResizeAttrs& attrs, ir::DType dtype);

Status eval_resize(ir::EvalContext& context);

}  // namespace tutti::ops
