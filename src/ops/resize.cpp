#include "ops/resize.h"

#include <algorithm>
#include <cmath>

#include "ops/compute_view.h"
#include "ops/elements.h"
#include "ops/resize_plan.h"
#include "ops/tensor_rules.h"
#include "ops/window.h"

namespace tutti::ops {

using namespace ir;

double source_position(const ResizeAttrs& attrs, const ResizeAxis& axis, int64_t o) {
  const auto x = static_cast<double>(o), in = static_cast<double>(axis.in);
  switch (attrs.coordinate_transformation_mode) {
    case ResizeCoordinates::kHalfPixel: return (x + 0.5) / axis.scale - 0.5;
    case ResizeCoordinates::kHalfPixelSymmetric:
      return in / 2 * (1 - static_cast<double>(axis.out) / axis.width) + (x + 0.5) / axis.scale - 0.5;
    case ResizeCoordinates::kPytorchHalfPixel:
      return axis.out > 1 ? (x + 0.5) / axis.scale - 0.5 : (axis.width == 1 ? -0.5 : 0.0);
    case ResizeCoordinates::kAlignCorners: return axis.width == 1 ? 0 : x * (in - 1) / (axis.width - 1);
    case ResizeCoordinates::kAsymmetric: return x / axis.scale;
    case ResizeCoordinates::kTfHalfPixelForNn: return (x + 0.5) / axis.scale;
    case ResizeCoordinates::kTfCropAndResize: break;
  }
  const double extent = axis.roi_end - axis.roi_start;
  const double within = axis.width == 1 ? extent * (in - 1) / 2 : x * extent * (in - 1) / (axis.width - 1);
  return within + axis.roi_start * (in - 1);
}

namespace {

int64_t clamp_to(double position, int64_t extent) {
  return static_cast<int64_t>(std::clamp(position, 0.0, static_cast<double>(extent - 1)));
}

}  // namespace

int64_t nearest_position(const ResizeAttrs& attrs, const ResizeAxis& axis, int64_t o) {
  const double x = source_position(attrs, axis, o);
  switch (attrs.nearest_mode) {
    case NearestMode::kRoundPreferFloor: return clamp_to(std::ceil(x - 0.5), axis.in);
    case NearestMode::kRoundPreferCeil: return clamp_to(std::floor(x + 0.5), axis.in);
    case NearestMode::kFloor: return clamp_to(std::floor(x), axis.in);
    case NearestMode::kCeil: return clamp_to(std::ceil(x), axis.in);
  }
  return 0;
}

namespace {

double linear_weight(double distance) { return std::max(0.0, 1 - std::fabs(distance)); }

double cubic_weight(double distance, double a) {
  const double x = std::fabs(distance);
  if (x <= 1) return (a + 2) * x * x * x - (a + 3) * x * x + 1;
  if (x < 2) return a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a;
  return 0;
}

bool is_extrapolated(const ResizeAttrs& attrs, const ResizeAxis& axis, double x) {
  return attrs.coordinate_transformation_mode == ResizeCoordinates::kTfCropAndResize &&
         (x < 0 || x > static_cast<double>(axis.in - 1));
}

}  // namespace

ResizeTaps resize_taps(const ResizeAttrs& attrs, const ResizeAxis& axis, int64_t o) {
  ResizeTaps taps;
  const double x = source_position(attrs, axis, o);
  taps.extrapolated = is_extrapolated(attrs, axis, x);
  if (attrs.mode == ResizeMode::kNearest || axis.in == 1) {
    taps.positions = {attrs.mode == ResizeMode::kNearest ? nearest_position(attrs, axis, o) : 0};
    taps.weights = {1};
    return taps;
  }
  const bool cubic = attrs.mode == ResizeMode::kCubic;
  // The filter widens when shrinking with antialias, but never beyond what covers the whole input.
  const double scale =
      attrs.antialias ? std::max(std::min(axis.scale, 1.0), 1.0 / static_cast<double>(4 * axis.in)) : 1.0;
  const double base = std::ceil(x) - 1,
               ratio = x - base;  // ratio in (0, 1]: a whole position belongs to the interval on its left
  const auto first = static_cast<int64_t>(std::floor((cubic ? -2 : -1) / scale)) + 1;
  double sum = 0;
  for (int64_t i = first; i < 2 - first; ++i) {
    const double distance = (static_cast<double>(i) - ratio) * scale, position = base + static_cast<double>(i);
    double weight = cubic ? cubic_weight(distance, static_cast<double>(attrs.cubic_coeff_a)) : linear_weight(distance);
    if (attrs.exclude_outside && !(position >= 0 && position < static_cast<double>(axis.in))) weight = 0;
    if (weight == 0) continue;
    taps.positions.push_back(clamp_to(position, axis.in));
    taps.weights.push_back(weight);
    sum += weight;
  }
  if ((attrs.antialias || attrs.exclude_outside) && sum != 0)
    for (double& weight : taps.weights) weight /= sum;
  return taps;
}

bool is_identity(const ResizeAttrs& attrs, const ResizeAxis& axis) {
  return axis.in == axis.out && axis.scale == 1 &&
         attrs.coordinate_transformation_mode != ResizeCoordinates::kTfCropAndResize;
}

namespace {

// Resizes along one axis of [outer, in, inner].
template <class C>
std::vector<C> resize_axis(const ResizeAttrs& attrs, const ResizeAxis& axis, const std::vector<C>& from, int64_t outer,
                           int64_t inner) {
  std::vector<C> to(static_cast<size_t>(outer * axis.out * inner));
  for (int64_t o = 0; o < axis.out; ++o) {
    const ResizeTaps taps = resize_taps(attrs, axis, o);
    for (int64_t row = 0; row < outer; ++row)
      for (int64_t i = 0; i < inner; ++i) {
        double sum = 0;
        for (size_t t = 0; t < taps.weights.size(); ++t)
          sum += taps.weights[t] *
                 static_cast<double>(from[static_cast<size_t>((row * axis.in + taps.positions[t]) * inner + i)]);
        to[static_cast<size_t>((row * axis.out + o) * inner + i)] =
            static_cast<C>(taps.extrapolated ? static_cast<double>(attrs.extrapolation_value) : sum);
      }
  }
  return to;
}

template <class C>
void interpolate(const ResizeAttrs& attrs, const std::vector<ResizeAxis>& plan, const Tensor& x, Tensor* out) {
  const ComputeView<C> view(x);
  std::vector<C> values(view.data(), view.data() + view.size());
  Dims dims = x.dims();
  for (size_t d = 0; d < plan.size(); ++d) {
    if (is_identity(attrs, plan[d])) continue;
    const AxisSplit split = split_at(dims, static_cast<int64_t>(d));
    values = resize_axis(attrs, plan[d], values, split.outer, split.inner);
    dims[d] = plan[d].out;
  }
  ComputeBuffer<C> buffer(out);
  std::copy(values.begin(), values.end(), buffer.data());
  buffer.store();
}

// Whole elements of any type.
Status pick_nearest(const ResizeAttrs& attrs, const std::vector<ResizeAxis>& plan, const Tensor& x, Tensor* out) {
  if (out->size() == 0) return ok_status();
  if (plan.empty()) {
    copy_element(*out, 0, x, 0);
    return ok_status();
  }
  std::vector<std::vector<int64_t>> positions;
  for (const ResizeAxis& axis : plan) {
    auto& own = positions.emplace_back();
    for (int64_t o = 0; o < axis.out; ++o)
      own.push_back(is_identity(attrs, axis) ? o : nearest_position(attrs, axis, o));
  }
  std::vector<int64_t> at(plan.size(), 0);
  const std::span<const int64_t> outer(out->dims().data(), plan.size() - 1);
  const auto& last = positions.back();
  int64_t to = 0;
  do {
    int64_t base = 0;
    for (size_t d = 0; d + 1 < plan.size(); ++d)
      base = (base + positions[d][static_cast<size_t>(at[d])]) * plan[d + 1].in;
    for (const int64_t position : last) copy_element(*out, to++, x, base + position);
  } while (next_index(at, outer));
  return ok_status();
}

}  // namespace

bool copies_elements(const ResizeAttrs& attrs, DType dtype) {
  const bool crops = attrs.coordinate_transformation_mode == ResizeCoordinates::kTfCropAndResize;
  const bool number = is_compute_float(dtype) || (is_integer(dtype) && dtype_bits(dtype) >= 8);
  // Extrapolation needs arithmetic types.
  return attrs.mode == ResizeMode::kNearest && !(crops && number);
}

Status eval_resize(EvalContext& context) {
  const auto& attrs = context.attrs<ResizeAttrs>();
  const Tensor& x = context.input(0);
  const auto given = [&](int i) { return context.has_input(i) ? &context.input(i) : nullptr; };
  const std::vector<ResizeAxis> plan = TUTTI_TRY(plan_resize(attrs, x.dims(), {given(1), given(2), given(3)}));
  Dims out_dims;
  for (const ResizeAxis& axis : plan) out_dims.push_back(axis.out);
  Tensor* out = TUTTI_TRY(context.output(0, x.dtype(), out_dims));
  if (copies_elements(attrs, x.dtype())) return pick_nearest(attrs, plan, x, out);
  if (out->size() > 0) with_compute_type(x.dtype(), [&]<class C>() { interpolate<C>(attrs, plan, x, out); });
  return ok_status();
}

}  // namespace tutti::ops
