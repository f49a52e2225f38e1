#include "ops/window.h"

#include <algorithm>

namespace tutti::ops {

using ir::Dim;

namespace {

constexpr int64_t kLargest = INT32_MAX;  // keeps every product of two attributes within int64

Status check_values(std::span<const int64_t> values, std::string_view name, int64_t count, int64_t least) {
  if (!values.empty() && static_cast<int64_t>(values.size()) != count)
    return make_error(Code::kInvalidModel, "attribute {} has {} values, expected {}", name, values.size(), count);
  for (const int64_t value : values)
    if (value < least || value > kLargest)
      return make_error(Code::kInvalidModel, "attribute {} has the value {}, expected {} to {}", name, value, least,
                        kLargest);
  return ok_status();
}

}  // namespace

Result<std::vector<WindowAxis>> window_axes(const WindowAttrs& attrs, std::span<const int64_t> kernel,
                                            int64_t spatial_rank) {
  const auto count = static_cast<size_t>(spatial_rank);
  if (kernel.size() != count)
    return make_error(Code::kInvalidModel, "attribute kernel_shape has {} values, expected {}, one per spatial axis",
                      kernel.size(), count);
  TUTTI_TRY(check_values(kernel, "kernel_shape", spatial_rank, 1));
  TUTTI_TRY(check_values(attrs.strides, "strides", spatial_rank, 1));
  TUTTI_TRY(check_values(attrs.dilations, "dilations", spatial_rank, 1));
  TUTTI_TRY(check_values(attrs.pads, "pads", 2 * spatial_rank, 0));
  std::vector<WindowAxis> axes(count);
  for (size_t i = 0; i < count; ++i) {
    WindowAxis& axis = axes[i];
    axis.kernel = kernel[i];
    if (!attrs.strides.empty()) axis.stride = attrs.strides[i];
    if (!attrs.dilations.empty()) axis.dilation = attrs.dilations[i];
    if (attrs.pads.empty() || attrs.auto_pad != AutoPad::kNotSet) continue;
    axis.pad_begin = attrs.pads[i];
    axis.pad_end = attrs.pads[i + count];
  }
  return axes;
}

Result<Dim> window_count(const Dim& in, const WindowAxis& axis, WindowRounding rounding) {
  const Dim stride(axis.stride);
  if (rounding.auto_pad == AutoPad::kSameUpper || rounding.auto_pad == AutoPad::kSameLower)
    return Dim::ceil_div(in, stride);
  const Dim room = in + Dim(axis.pad_begin + axis.pad_end - axis.extent());
  if (in.is(0) && room.range({}).max < 0) return Dim(0);  // nothing in, nothing out
  if (const auto known = room.constant(); known && *known < 0)
    return make_error(Code::kInvalidModel,
                      "a window of extent {} (kernel {}, dilation {}) does not fit an input of extent {} padded to {}",
                      axis.extent(), axis.kernel, axis.dilation, in.text(), *known + axis.extent());
  if (!rounding.ceil || axis.stride == 1) return Dim::floor_div(room, stride) + Dim(1);
  // A last window that would start in the padding at the end is left out: (out - 1) * stride < in + pad_begin.
  return Dim::min(Dim::ceil_div(room, stride) + Dim(1), Dim::ceil_div(in + Dim(axis.pad_begin), stride));
}

Result<std::vector<WindowPlan>> plan_windows(const WindowAttrs& attrs, std::span<const int64_t> kernel,
                                             std::span<const int64_t> in, bool ceil) {
  const auto axes = TUTTI_TRY(window_axes(attrs, kernel, static_cast<int64_t>(in.size())));
  std::vector<WindowPlan> plans;
  for (size_t i = 0; i < axes.size(); ++i) {
    const WindowAxis& axis = axes[i];
    const Dim count = TUTTI_TRY(window_count(Dim(in[i]), axis, {attrs.auto_pad, ceil}));
    WindowPlan plan{in[i],       count.constant().value_or(0), axis.kernel, axis.stride, axis.dilation, axis.pad_begin,
                    axis.pad_end};
    if (attrs.auto_pad == AutoPad::kSameUpper || attrs.auto_pad == AutoPad::kSameLower) {
      const int64_t total = std::max<int64_t>((plan.out - 1) * plan.stride + axis.extent() - plan.in, 0);
      plan.pad_begin = attrs.auto_pad == AutoPad::kSameUpper ? total / 2 : total - total / 2;
      plan.pad_end = total - plan.pad_begin;
    }
    plans.push_back(plan);
  }
  return plans;
}

bool next_index(std::vector<int64_t>& index, std::span<const int64_t> dims) {
  for (size_t i = dims.size(); i-- > 0;) {
    if (++index[i] < dims[i]) return true;
    index[i] = 0;
  }
  return false;
}

}  // namespace tutti::ops
