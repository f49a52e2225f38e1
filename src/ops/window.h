// Sliding windows of convolutions and poolings: attributes, their validation, output extents (symbolic and concrete).
#pragma once

#include <array>
#include <span>
#include <vector>

#include "ir/attrs.h"
#include "ir/shape.h"

namespace tutti::ops {

enum class AutoPad : uint8_t { kNotSet, kSameUpper, kSameLower, kValid };
inline constexpr std::array<std::string_view, 4> kAutoPadNames{"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};

// The attributes that every windowed operator has. Empty vectors stand for the defaults (ones, zeros).
struct WindowAttrs {
  AutoPad auto_pad = AutoPad::kNotSet;
  std::vector<int64_t> dilations, kernel_shape, pads, strides;
  void window_fields(ir::FieldVisitor& v) {
    v.choice("auto_pad", auto_pad, kAutoPadNames);
    v.field("dilations", dilations);
    v.field("kernel_shape", kernel_shape);
    v.field("pads", pads);
    v.field("strides", strides);
  }
};

// One spatial axis with every default filled in.
struct WindowAxis {
  int64_t kernel = 1, stride = 1, dilation = 1, pad_begin = 0, pad_end = 0;
  int64_t extent() const { return (kernel - 1) * dilation + 1; }  // from the first to the last element read
};
// Checks the attributes against the number of spatial axes: counts, positive kernel, stride and dilation, pads not
// negative, all below 2^31.
Result<std::vector<WindowAxis>> window_axes(const WindowAttrs& attrs, std::span<const int64_t> kernel,
                                            int64_t spatial_rank);

struct WindowRounding {
  AutoPad auto_pad = AutoPad::kNotSet;
  bool ceil = false;
};
// How many windows fit `in`. An error when the window is larger than a known padded input.
Result<ir::Dim> window_count(const ir::Dim& in, const WindowAxis& axis, WindowRounding rounding);

// Where the windows of one axis lie, for kernels: window `o` reads in[o * stride - pad_begin + k * dilation].
struct WindowPlan {
  int64_t in = 0, out = 0, kernel = 1, stride = 1, dilation = 1, pad_begin = 0, pad_end = 0;
};
// Plans for the spatial dims `in` (auto_pad resolved to pads).
Result<std::vector<WindowPlan>> plan_windows(const WindowAttrs& attrs, std::span<const int64_t> kernel,
                                             std::span<const int64_t> in, bool ceil);

// Steps `index` through the box `dims` in row-major order; false after the last one.
bool next_index(std::vector<int64_t>& index, std::span<const int64_t> dims);

}  // namespace tutti::ops
