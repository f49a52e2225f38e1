#include "ops/grid_sample.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tutti::ops {
namespace {

using ir::EvalContext;
using ir::InferContext;
using ir::Shape;
using ir::Tensor;

Status infer_grid_sample(InferContext& context) {
  const auto &x = context.shape(0), &grid = context.shape(1);
  if (!ir::is_compute_float(context.dtype(1)))
    return make_error(Code::kInvalidModel, "grid: found {}, expected a float type", dtype_name(context.dtype(1)));
  if (!x || !grid) {
    context.set_output_unranked(0, context.dtype(0));
    return {};
  }
  if (x->size() < 3 || grid->size() != x->size())
    return make_error(Code::kInvalidModel, "found X {} and grid {}, expected equal ranks of 3 or more", shape_text(*x),
                      shape_text(*grid));
  const auto axes = static_cast<int64_t>(x->size()) - 2;
  if (ir::Dim::never_equal(grid->back(), ir::Dim(axes)))
    return make_error(Code::kInvalidModel, "grid: found a last dimension of {}, expected {}", grid->back().text(),
                      axes);
  if (context.attrs<GridSampleAttrs>().mode == GridMode::kCubic && axes != 2)
    return make_error(Code::kInvalidModel, "cubic: found {} spatial axes, expected 2", axes);
  Shape out{(*x)[0], (*x)[1]};
  out.insert(out.end(), grid->begin() + 1, grid->end() - 1);
  context.set_output(0, context.dtype(0), std::move(out));
  return {};
}

double reflect(double x, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  const double outside = x < low ? low - x : x > high ? x - high : 0;
  if (outside == 0) return x;
  const double turns = std::floor(outside / range), rest = outside - turns * range;
  const bool even = std::fmod(turns, 2) == 0;
  return (x < low) == even ? low + rest : high - rest;
}

class Sampler {
 public:
  Sampler(const GridSampleAttrs& attrs, const Tensor& x)
      : attrs_(attrs), x_(x), spatial_(x.dims().begin() + 2, x.dims().end()), plane_(ir::element_count(spatial_)) {}

  int64_t plane() const { return plane_; }

  // From [-1,1] to elements of spatial axis `axis`, brought inside as the padding mode says. NaN and infinity count as
  // far outside.
  double position(double value, size_t axis) const {
    const auto extent = static_cast<double>(spatial_[axis]);
    double p = attrs_.align_corners ? (value + 1) / 2 * (extent - 1) : ((value + 1) * extent - 1) / 2;
    if (!std::isfinite(p) || std::fabs(p) > 1e9) p = -1e9;
    if (attrs_.mode == GridMode::kNearest) p = std::nearbyint(p);
    if (p >= low() && p <= high(axis)) return p;
    if (attrs_.padding_mode == GridPadding::kBorder) return std::clamp(p, 0.0, extent - 1);
    return attrs_.padding_mode == GridPadding::kReflection ? reflect(p, low(), high(axis)) : p;
  }

  // The weighted sum over the neighbours of `at` in the plane that starts at element `first`.
  double sample(int64_t first, const std::vector<double>& at) const {
    const int taps = attrs_.mode == GridMode::kNearest ? 1 : attrs_.mode == GridMode::kLinear ? 2 : 4;
    std::vector<int> tap(at.size(), 0);
    double sum = 0;
    while (true) {
      double weight = 1;
      int64_t index = 0;
      bool inside = true;
      for (size_t axis = 0; axis < at.size() && inside; ++axis) {
        const double base = taps == 1 ? at[axis] : std::floor(at[axis]);
        weight *= tap_weight(at[axis] - base, tap[axis]);
        const int64_t element = pixel(static_cast<int64_t>(base) + tap[axis] - (taps == 4 ? 1 : 0), axis);
        inside = element >= 0;
        index = index * spatial_[axis] + element;
      }
      if (inside && weight != 0) sum += weight * x_.get_double(first + index);
      size_t axis = at.size();
      while (axis > 0 && ++tap[axis - 1] == taps) tap[--axis] = 0;
      if (axis == 0) return sum;
    }
  }

 private:
  double low() const { return attrs_.align_corners ? 0.0 : -0.5; }
  double high(size_t axis) const { return static_cast<double>(spatial_[axis]) - (attrs_.align_corners ? 1.0 : 0.5); }

  // Keys' cubic convolution with a = -0.75; linear; or all of it.
  double tap_weight(double t, int tap) const {
    if (attrs_.mode == GridMode::kNearest) return 1;
    if (attrs_.mode == GridMode::kLinear) return tap == 0 ? 1 - t : t;
    constexpr double a = -0.75;
    const double d = std::fabs(t + 1 - tap);
    if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  }

  // The element that stands for index `i`, or -1 where there is nothing.
  int64_t pixel(int64_t i, size_t axis) const {
    const int64_t extent = spatial_[axis];
    if (i >= 0 && i < extent) return i;
    if (extent == 0 || attrs_.padding_mode == GridPadding::kZeros) return -1;
    if (attrs_.padding_mode == GridPadding::kBorder) return std::clamp<int64_t>(i, 0, extent - 1);
    return std::clamp<int64_t>(static_cast<int64_t>(reflect(static_cast<double>(i), low(), high(axis))), 0, extent - 1);
  }

  const GridSampleAttrs& attrs_;
  const Tensor& x_;
  const ir::Dims spatial_;
  const int64_t plane_;
};

Status eval_grid_sample(EvalContext& context) {
  const Tensor &x = context.input(0), &grid = context.input(1);
  const int64_t axes = x.rank() - 2;
  if (axes < 1 || grid.rank() != x.rank() || grid.dim(0) != x.dim(0) || grid.dim(grid.rank() - 1) != axes)
    return make_error(Code::kInvalidInput, "grid: found {}, expected [{}, ..., {}] for {}", grid.type_text(),
                      x.rank() > 0 ? x.dim(0) : 0, axes, x.type_text());
  ir::Dims dims{x.dim(0), x.dim(1)};
  dims.insert(dims.end(), grid.dims().begin() + 1, grid.dims().end() - 1);
  Tensor& y = *TUTTI_TRY(context.output(0, x.dtype(), dims));
  const Sampler sampler(context.attrs<GridSampleAttrs>(), x);
  const int64_t channels = x.dim(1), points = x.dim(0) == 0 ? 0 : grid.size() / axes / x.dim(0);
  std::vector<double> at(static_cast<size_t>(axes));
  for (int64_t n = 0; n < x.dim(0); ++n) {
    for (int64_t p = 0; p < points; ++p) {
      for (size_t axis = 0; axis < at.size(); ++axis)  // the grid names the last axis first
        at[axis] =
            sampler.position(grid.get_double((n * points + p) * axes + axes - 1 - static_cast<int64_t>(axis)), axis);
      for (int64_t c = 0; c < channels; ++c)
        y.set_double((n * channels + c) * points + p, sampler.sample((n * channels + c) * sampler.plane(), at));
    }
  }
  return {};
}

}  // namespace

const ir::OpDef kGridSample{.name = "GridSample",
                            .min_inputs = 2,
                            .max_inputs = 2,
                            .make_attrs = ir::make_attrs<GridSampleAttrs>,
                            .infer = infer_grid_sample,
                            .eval = eval_grid_sample};

}  // namespace tutti::ops
