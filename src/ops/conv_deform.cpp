#include <algorithm>
#include <cmath>

#include "ops/compute_view.h"
#include "ops/conv.h"
#include "ops/tensor_rules.h"

namespace tutti::ops {

using namespace ir;

namespace {

WindowAttrs window_of(const DeformConvAttrs& attrs) {
  return {AutoPad::kNotSet, attrs.dilations, attrs.kernel_shape, attrs.pads, attrs.strides};
}

Status infer_deform_conv(InferContext& context) {
  const auto& attrs = context.attrs<DeformConvAttrs>();
  TUTTI_TRY(require_float(context, 0, "X"));
  TUTTI_TRY(require_same_types(context, {"X", "W", "offset", "B", "mask"}));
  if (attrs.offset_group < 1)
    return make_error(Code::kInvalidModel, "attribute offset_group is {}, expected 1 or more", attrs.offset_group);
  auto shape = TUTTI_TRY(infer_conv_shape(context, window_of(attrs), attrs.group));
  if (shape) {
    TUTTI_TRY(require_vector(context, 3, (*shape)[1], "B"));
    TUTTI_TRY(require_rank(context, 2, static_cast<int64_t>(shape->size()), "offset"));
  }
  context.set_output(0, ValueType::tensor(context.dtype(0), std::move(shape)));
  return ok_status();
}

// N-linear interpolation at fractional `position`; zero outside the image.
template <class C>
double sample_linear(const C* image, std::span<const WindowPlan> axes, const std::vector<double>& position) {
  const size_t rank = axes.size();
  double total = 0;
  for (size_t corner = 0; corner < (size_t{1} << rank); ++corner) {
    double weight = 1;
    int64_t offset = 0;
    for (size_t d = 0; d < rank && weight != 0; ++d) {
      const double low = std::floor(position[d]);
      const bool upper = (corner >> d & 1) != 0;
      const double at = low + (upper ? 1 : 0);
      weight *= upper ? position[d] - low : 1 - (position[d] - low);
      if (!(at >= 0 && at < static_cast<double>(axes[d].in)))
        weight = 0;
      else
        offset = offset * axes[d].in + static_cast<int64_t>(at);
    }
    if (weight != 0) total += weight * static_cast<double>(image[offset]);
  }
  return total;
}

struct DeformRun {
  ConvPlan plan;
  int64_t offset_group, kernel, in_size, out_size;
};

// The sampled patch of one output position: values[channels * kernel].
template <class C>
void sample_patch(const DeformRun& run, int64_t n, const std::vector<int64_t>& at, int64_t position, const C* x,
                  const C* offset, const C* mask, std::vector<double>& values) {
  const auto rank = static_cast<int64_t>(run.plan.axes.size());
  std::vector<double> sample(run.plan.axes.size());
  const int64_t per_group = run.plan.channels / run.offset_group;
  for (int64_t c = 0; c < run.plan.channels; ++c)
    for (int64_t k = 0; k < run.kernel; ++k) {
      const int64_t group = n * run.offset_group + c / per_group;
      int64_t rest = k;
      for (int64_t d = rank; d-- > 0;) {
        const WindowPlan& axis = run.plan.axes[static_cast<size_t>(d)];
        const C shift = offset[((group * run.kernel + k) * rank + d) * run.out_size + position];
        sample[static_cast<size_t>(d)] = static_cast<double>(at[static_cast<size_t>(d)] * axis.stride - axis.pad_begin +
                                                             rest % axis.kernel * axis.dilation) +
                                         static_cast<double>(shift);
        rest /= axis.kernel;
      }
      double value = sample_linear(x + (n * run.plan.channels + c) * run.in_size, std::span(run.plan.axes), sample);
      if (mask) value *= static_cast<double>(mask[(group * run.kernel + k) * run.out_size + position]);
      values[static_cast<size_t>(c * run.kernel + k)] = value;
    }
}

template <class C>
void deform_convolve(EvalContext& context, const DeformRun& run, Tensor* out) {
  const ComputeView<C> x(context.input(0)), w(context.input(1)), offset(context.input(2));
  const ComputeView<C> bias = context.has_input(3) ? ComputeView<C>(context.input(3)) : ComputeView<C>();
  const ComputeView<C> mask = context.has_input(4) ? ComputeView<C>(context.input(4)) : ComputeView<C>();
  ComputeBuffer<C> y(out);
  const int64_t depth = run.plan.channels / run.plan.group * run.kernel, filters = run.plan.filters / run.plan.group;
  std::vector<double> values(static_cast<size_t>(run.plan.channels * run.kernel));
  const std::span<const int64_t> out_spatial(run.plan.out_dims.data() + 2, run.plan.axes.size());
  for (int64_t n = 0; n < run.plan.batch && run.out_size > 0; ++n) {
    std::vector<int64_t> at(run.plan.axes.size(), 0);
    int64_t position = 0;
    do {
      sample_patch(run, n, at, position, x.data(), offset.data(), context.has_input(4) ? mask.data() : nullptr, values);
      for (int64_t f = 0; f < run.plan.filters; ++f) {
        double sum = context.has_input(3) ? static_cast<double>(bias[f]) : 0;
        const double* patch = values.data() + f / filters * depth;
        for (int64_t i = 0; i < depth; ++i) sum += patch[i] * static_cast<double>(w[f * depth + i]);
        y.data()[(n * run.plan.filters + f) * run.out_size + position] = static_cast<C>(sum);
      }
      ++position;
    } while (next_index(at, out_spatial));
  }
  y.store();
}

Status eval_deform_conv(EvalContext& context) {
  const auto& attrs = context.attrs<DeformConvAttrs>();
  const Tensor& x = context.input(0);
  DeformRun run{TUTTI_TRY(plan_conv(window_of(attrs), attrs.group, x.dims(), context.input(1).dims())),
                attrs.offset_group, 1, 1, 1};
  if (run.plan.axes.size() > 8)
    return make_error(Code::kUnsupported, "X has {} spatial axes, expected 8 or fewer", run.plan.axes.size());
  if (run.plan.channels % run.offset_group != 0)
    return make_error(Code::kInvalidInput, "X has {} channels, expected a multiple of offset_group {}",
                      run.plan.channels, run.offset_group);
  Dims expected = run.plan.out_dims;
  for (const WindowPlan& axis : run.plan.axes) {
    run.kernel *= axis.kernel;
    run.in_size *= axis.in;
    run.out_size *= axis.out;
  }
  expected[1] = run.offset_group * run.kernel * static_cast<int64_t>(run.plan.axes.size());
  TUTTI_TRY(require_dims(context.input(2), expected, "offset"));
  if (context.has_input(3)) TUTTI_TRY(require_dims(context.input(3), {run.plan.filters}, "B"));
  expected[1] = run.offset_group * run.kernel;
  if (context.has_input(4)) TUTTI_TRY(require_dims(context.input(4), expected, "mask"));
  Tensor* out = TUTTI_TRY(context.output(0, x.dtype(), run.plan.out_dims));
  with_compute_type(x.dtype(), [&]<class C>() { deform_convolve<C>(context, run, out); });
  return ok_status();
}

}  // namespace

const OpDef kDeformConv{.name = "DeformConv",
                        .min_inputs = 3,
                        .max_inputs = 5,
                        .make_attrs = make_attrs<DeformConvAttrs>,
                        .infer = infer_deform_conv,
                        .eval = eval_deform_conv};

}  // namespace tutti::ops
