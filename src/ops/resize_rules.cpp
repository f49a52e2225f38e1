#include <cmath>

#include "ops/resize.h"
#include "ops/resize_plan.h"
#include "ops/tensor_rules.h"

namespace tutti::ops {

using namespace ir;

namespace {

constexpr double kLargestExtent = 1e15;  // keeps conversions to int64 exact

// floor(in * scale) as an expression, for scales that are fractions with a power of two below; nothing for others.
std::optional<Dim> scaled_extent(const Dim& in, float scale) {
  if (const auto known = in.constant())
    return Dim(static_cast<int64_t>(std::floor(static_cast<float>(*known) * scale)));
  for (int64_t divisor = 1; divisor <= 1024; divisor *= 2) {
    const double multiple = static_cast<double>(scale) * static_cast<double>(divisor);
    if (multiple == std::floor(multiple) && multiple < 1e6)
      return Dim::floor_div(in * Dim(static_cast<int64_t>(multiple)), Dim(divisor));
  }
  return std::nullopt;
}

Status check_scale(double scale) {
  if (scale > 0 && scale < 1e9) return ok_status();
  return make_error(Code::kInvalidInput, "scales has the value {}, expected a number above 0", scale);
}

double aspect_scale(AspectPolicy policy, std::span<const int64_t> sizes, std::span<const int64_t> extents) {
  double scale = policy == AspectPolicy::kNotLarger ? INFINITY : 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const double own = static_cast<double>(sizes[i]) / static_cast<double>(extents[i]);
    scale = policy == AspectPolicy::kNotLarger ? std::min(scale, own) : std::max(scale, own);
  }
  return scale;
}

int64_t round_half_up(double v) { return static_cast<int64_t>(std::floor(v + 0.5)); }

Status check_count(size_t found, size_t expected, std::string_view name) {
  if (found == expected) return ok_status();
  return make_error(Code::kInvalidModel, "{} has {} values, expected {}, one per resized axis", name, found, expected);
}

Result<Shape> shape_from_scales(InferContext& context, const std::vector<int64_t>& axes) {
  Shape out = *context.shape(0);
  const Tensor* scales = context.constant(2);
  if (scales) TUTTI_TRY(check_count(static_cast<size_t>(scales->size()), axes.size(), "scales"));
  for (size_t i = 0; i < axes.size(); ++i) {
    Dim& dim = out[static_cast<size_t>(axes[i])];
    std::optional<Dim> scaled;
    if (scales) {
      const double scale = scales->get_double(static_cast<int64_t>(i));
      TUTTI_TRY(check_scale(scale));
      scaled = scaled_extent(dim, static_cast<float>(scale));
    }
    dim = scaled ? *scaled : context.fresh_dim("resize");
  }
  return out;
}

Result<Shape> shape_from_sizes(InferContext& context, const ResizeAttrs& attrs, const std::vector<int64_t>& axes) {
  Shape out = *context.shape(0);
  const auto sizes = context.dims_value(3);
  if (sizes) TUTTI_TRY(check_count(sizes->size(), axes.size(), "sizes"));
  const bool stretch = attrs.keep_aspect_ratio_policy == AspectPolicy::kStretch;
  Shape picked;
  for (const int64_t axis : axes) picked.push_back(out[static_cast<size_t>(axis)]);
  const auto known_sizes = sizes ? to_dims(*sizes) : std::nullopt, extents = to_dims(picked);
  for (size_t i = 0; i < axes.size(); ++i) {
    Dim& dim = out[static_cast<size_t>(axes[i])];
    if (sizes && stretch)
      dim = (*sizes)[i];
    else if (known_sizes && extents && element_count(*extents) > 0)
      dim = Dim(round_half_up(aspect_scale(attrs.keep_aspect_ratio_policy, *known_sizes, *extents) *
                              static_cast<double>((*extents)[i])));
    else
      dim = context.fresh_dim("resize");
    if (const auto known = dim.constant(); known && *known < 0)
      return make_error(Code::kInvalidModel, "sizes has the value {}, expected 0 or more", *known);
  }
  return out;
}

// An empty tensor stands for an absent input, as older models have it.
bool is_given(const InferContext& context, int i) {
  return context.has_input(i) && !(context.shape(i) && context.shape(i)->size() == 1 && (*context.shape(i))[0].is(0));
}

Status infer_resize(InferContext& context) {
  const auto& attrs = context.attrs<ResizeAttrs>();
  const bool scales = is_given(context, 2), sizes = is_given(context, 3);
  if (scales == sizes)
    return make_error(Code::kInvalidModel, "{} of scales and sizes given, expected exactly one",
                      scales ? "both" : "none");
  const DType dtype = context.dtype(0);
  if (attrs.mode != ResizeMode::kNearest && !is_compute_float(dtype) && !(is_integer(dtype) && dtype_bits(dtype) >= 8))
    return make_error(Code::kInvalidModel, "X has element type {}, expected a number for mode {}", dtype_name(dtype),
                      kResizeModeNames[static_cast<size_t>(attrs.mode)]);
  if (!context.shape(0)) {
    context.set_output_unranked(0, dtype);
    return ok_status();
  }
  const auto axes = TUTTI_TRY(resized_axes(attrs, context.input(0).rank()));
  context.set_output(
      0, dtype,
      scales ? TUTTI_TRY(shape_from_scales(context, axes)) : TUTTI_TRY(shape_from_sizes(context, attrs, axes)));
  return ok_status();
}

Status fill_roi(const Tensor* given, const ResizeAttrs& attrs, const std::vector<int64_t>& axes,
                std::vector<ResizeAxis>& plan) {
  if (attrs.coordinate_transformation_mode != ResizeCoordinates::kTfCropAndResize) return ok_status();
  if (given == nullptr) return make_error(Code::kInvalidInput, "roi is absent, expected it with tf_crop_and_resize");
  const Tensor& roi = *given;
  const auto count = static_cast<int64_t>(axes.size());
  if (roi.size() != 2 * count)
    return make_error(Code::kInvalidInput, "roi has {} values, expected {}", roi.size(), 2 * count);
  for (int64_t i = 0; i < count; ++i) {
    ResizeAxis& axis = plan[static_cast<size_t>(axes[static_cast<size_t>(i)])];
    axis.roi_start = roi.get_double(i);
    axis.roi_end = roi.get_double(i + count);
    if (!std::isfinite(axis.roi_start) || !std::isfinite(axis.roi_end))
      return make_error(Code::kInvalidInput, "roi has the bounds {} and {}, expected finite numbers", axis.roi_start,
                        axis.roi_end);
  }
  return ok_status();
}

Status fill_from_scales(const Tensor& scales, const std::vector<int64_t>& axes, std::vector<ResizeAxis>& plan) {
  TUTTI_TRY(check_count(static_cast<size_t>(scales.size()), axes.size(), "scales"));
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizeAxis& axis = plan[static_cast<size_t>(axes[i])];
    axis.scale = scales.get_double(static_cast<int64_t>(i));
    TUTTI_TRY(check_scale(axis.scale));
    axis.width = axis.scale * static_cast<double>(axis.in);
    if (axis.width > kLargestExtent) return make_error(Code::kLimit, "scales makes an extent of {}", axis.width);
    axis.out = static_cast<int64_t>(std::floor(static_cast<float>(axis.in) * static_cast<float>(axis.scale)));
  }
  return ok_status();
}

Status fill_from_sizes(const Tensor& tensor, AspectPolicy policy, const std::vector<int64_t>& axes,
                       std::vector<ResizeAxis>& plan) {
  TUTTI_TRY(check_count(static_cast<size_t>(tensor.size()), axes.size(), "sizes"));
  const std::vector<int64_t> sizes = tensor.to_int64();
  std::vector<int64_t> extents;
  for (const int64_t axis : axes) extents.push_back(plan[static_cast<size_t>(axis)].in);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (sizes[i] < 0 || static_cast<double>(sizes[i]) > kLargestExtent)
      return make_error(Code::kInvalidInput, "sizes has the value {}, expected 0 or more", sizes[i]);
    if (extents[i] == 0)
      return make_error(Code::kInvalidInput, "X has extent 0 on axis {}, expected 1 or more to resize by sizes",
                        axes[i]);
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizeAxis& axis = plan[static_cast<size_t>(axes[i])];
    axis.out = sizes[i];
    axis.scale = static_cast<double>(sizes[i]) / static_cast<double>(axis.in);
    axis.width = static_cast<double>(sizes[i]);
    if (policy == AspectPolicy::kStretch) continue;
    axis.scale = aspect_scale(policy, sizes, extents);
    axis.width = axis.scale * static_cast<double>(axis.in);
    if (!(axis.width < kLargestExtent)) return make_error(Code::kLimit, "sizes makes an extent of {}", axis.width);
    axis.out = round_half_up(axis.width);
  }
  return ok_status();
}

}  // namespace

Result<std::vector<int64_t>> resized_axes(const ResizeAttrs& attrs, int64_t rank) {
  if (!attrs.axes.empty()) return normalize_axes(attrs.axes, rank).with_context("attribute axes");
  std::vector<int64_t> axes(static_cast<size_t>(rank));
  for (int64_t i = 0; i < rank; ++i) axes[static_cast<size_t>(i)] = i;
  return axes;
}

Result<std::vector<ResizeAxis>> plan_resize(const ResizeAttrs& attrs, const Dims& dims, const ResizeInputs& inputs) {
  const auto axes = TUTTI_TRY(resized_axes(attrs, static_cast<int64_t>(dims.size())));
  std::vector<ResizeAxis> plan;
  for (const int64_t extent : dims) plan.push_back({extent, extent, 1, static_cast<double>(extent)});
  TUTTI_TRY(fill_roi(inputs.roi, attrs, axes, plan));
  if (inputs.sizes && inputs.sizes->size() > 0)
    TUTTI_TRY(fill_from_sizes(*inputs.sizes, attrs.keep_aspect_ratio_policy, axes, plan));
  else if (inputs.scales)
    TUTTI_TRY(fill_from_scales(*inputs.scales, axes, plan));
  else
    return make_error(Code::kInvalidInput, "none of scales and sizes given, expected exactly one");
  for (const ResizeAxis& axis : plan)
    if (axis.in == 0 && axis.out > 0)
      return make_error(Code::kInvalidInput, "an axis of extent 0 resized to {}, expected 0", axis.out);
  return plan;
}

const OpDef kResize{.name = "Resize",
                    .min_inputs = 1,
                    .max_inputs = 4,
                    .make_attrs = make_attrs<ResizeAttrs>,
                    .infer = infer_resize,
                    .eval = eval_resize};

}  // namespace tutti::ops
