#include <algorithm>

#include "ops/compute_view.h"
#include "ops/conv.h"
#include "ops/matmul_core.h"
#include "ops/patches.h"
#include "ops/tensor_rules.h"

namespace tutti::ops {

using namespace ir;

namespace {

// One spatial axis of a transposed convolution: `in` windows are added into `out` positions.
struct TransposeAxis {
  WindowAxis window;
  int64_t output_padding = 0;
  std::optional<int64_t> output_shape;
};

Result<std::vector<TransposeAxis>> transpose_axes(const ConvTransposeAttrs& attrs, std::span<const int64_t> kernel) {
  const auto spatial = static_cast<int64_t>(kernel.size());
  const auto windows = TUTTI_TRY(window_axes(attrs, kernel, spatial));
  for (const auto& [values, name] :
       {std::pair{&attrs.output_padding, "output_padding"}, {&attrs.output_shape, "output_shape"}}) {
    if (!values->empty() && static_cast<int64_t>(values->size()) != spatial)
      return make_error(Code::kInvalidModel, "attribute {} has {} values, expected {}, one per spatial axis", name,
                        values->size(), spatial);
    for (const int64_t value : *values)
      if (value < 0 || value > INT32_MAX)
        return make_error(Code::kInvalidModel, "attribute {} has the value {}, expected 0 to {}", name, value,
                          INT32_MAX);
  }
  std::vector<TransposeAxis> axes;
  for (size_t i = 0; i < windows.size(); ++i) {
    TransposeAxis axis{windows[i]};
    if (!attrs.output_padding.empty()) axis.output_padding = attrs.output_padding[i];
    if (!attrs.output_shape.empty()) axis.output_shape = attrs.output_shape[i];
    axes.push_back(axis);
  }
  return axes;
}

bool is_same(AutoPad pad) { return pad == AutoPad::kSameUpper || pad == AutoPad::kSameLower; }

// Extent before anything is cut off at the ends.
Dim full_extent(const Dim& in, const TransposeAxis& axis) {
  return Dim(axis.window.stride) * (in - Dim(1)) + Dim(axis.output_padding + axis.window.extent());
}

Result<Dim> output_extent(const Dim& in, const TransposeAxis& axis, AutoPad auto_pad) {
  if (axis.output_shape) return Dim(*axis.output_shape);
  if (is_same(auto_pad)) return in * Dim(axis.window.stride);
  const Dim out = full_extent(in, axis) - Dim(axis.window.pad_begin + axis.window.pad_end);
  if (const auto known = out.constant(); known && *known < 0)
    return make_error(Code::kInvalidModel,
                      "an input of extent {} gives an output of extent {}, expected 0 or more; pads are {} and {}",
                      in.text(), *known, axis.window.pad_begin, axis.window.pad_end);
  return out;
}

Status check_transpose(const Shape& x, const Shape& w, int64_t group) {
  if (group < 1 || group > INT32_MAX)
    return make_error(Code::kInvalidModel, "attribute group is {}, expected 1 or more", group);
  if (x.size() < 3 || w.size() != x.size())
    return make_error(Code::kInvalidModel, "X and W have shapes {} and {}, expected equal ranks of 3 or more",
                      shape_text(x), shape_text(w));
  TUTTI_TRY(require_equal(w[0], x[1], "the number of W's input channels"));
  if (const auto channels = x[1].constant(); channels && *channels % group != 0)
    return make_error(Code::kInvalidModel, "X has {} channels, expected a multiple of group {}", *channels, group);
  return ok_status();
}

Status infer_conv_transpose(InferContext& context) {
  const auto& attrs = context.attrs<ConvTransposeAttrs>();
  TUTTI_TRY(require_float(context, 0, "X"));
  TUTTI_TRY(require_same_types(context, {"X", "W", "B"}));
  const auto &x = context.shape(0), &w = context.shape(1);
  if (!x || !w) {
    context.set_output_unranked(0, context.dtype(0));
    return ok_status();
  }
  TUTTI_TRY(check_transpose(*x, *w, attrs.group));
  std::vector<int64_t> kernel = attrs.kernel_shape;
  bool known = true;
  if (kernel.empty())
    for (size_t i = 2; i < w->size(); ++i) {
      known = known && (*w)[i].is_constant();
      kernel.push_back((*w)[i].constant().value_or(1));
    }
  if (kernel.size() != x->size() - 2)
    return make_error(Code::kInvalidModel, "attribute kernel_shape has {} values, expected {}, one per spatial axis",
                      kernel.size(), x->size() - 2);
  for (size_t i = 0; i < kernel.size(); ++i)
    TUTTI_TRY(require_equal((*w)[i + 2], known ? Dim(kernel[i]) : (*w)[i + 2],
                            fmt::format("W's extent on spatial axis {}", i)));
  const auto axes = TUTTI_TRY(transpose_axes(attrs, kernel));
  Shape out{(*x)[0], (*w)[1] * Dim(attrs.group)};
  for (size_t i = 0; i < axes.size(); ++i)
    out.push_back(known || is_same(attrs.auto_pad) || axes[i].output_shape
                      ? TUTTI_TRY(output_extent((*x)[i + 2], axes[i], attrs.auto_pad))
                      : context.fresh_dim("conv_transpose"));
  TUTTI_TRY(require_vector(context, 2, out[1], "B"));
  context.set_output(0, context.dtype(0), std::move(out));
  return ok_status();
}

// Transposed: the plan's "in" is our output image and its "out" our input.
Result<std::vector<WindowPlan>> transposed_plans(const ConvTransposeAttrs& attrs, const Dims& x, const Dims& w) {
  const auto axes = TUTTI_TRY(transpose_axes(attrs, std::span(w.data() + 2, w.size() - 2)));
  std::vector<WindowPlan> plans;
  for (size_t i = 0; i < axes.size(); ++i) {
    const TransposeAxis& axis = axes[i];
    const int64_t in = x[i + 2];
    const int64_t out = *TUTTI_TRY(output_extent(Dim(in), axis, attrs.auto_pad)).constant();
    int64_t pad_begin = axis.window.pad_begin;
    if (axis.output_shape || is_same(attrs.auto_pad)) {
      const int64_t total = std::max<int64_t>(*full_extent(Dim(in), axis).constant() - out, 0);
      pad_begin = attrs.auto_pad == AutoPad::kSameUpper ? total / 2 : total - total / 2;
    }
    plans.push_back({out, in, axis.window.kernel, axis.window.stride, axis.window.dilation, pad_begin, 0});
  }
  return plans;
}

template <class C>
void convolve_transposed(std::span<const WindowPlan> axes, const Dims& x, const Dims& w, int64_t group, const C* from,
                         const C* weights, C* y) {
  int64_t in_size = 1, out_size = 1;
  for (const WindowPlan& axis : axes) {
    in_size *= axis.out;
    out_size *= axis.in;
  }
  const int64_t channels = x[1] / group, filters = w[1], rows = filters * kernel_size(axes);
  std::vector<C> columns(static_cast<size_t>(rows * in_size));
  if (in_size == 0) return;
  for (int64_t i = 0; i < x[0] * group; ++i) {
    const int64_t g = i % group;
    // columns[filters * kernel][in] = W^T[filters * kernel][channels] * X[channels][in]
    multiply({rows, in_size, channels}, weights + g * channels * rows, {1, rows}, from + i * channels * in_size,
             {in_size, 1}, columns.data(), in_size);
    scatter_patches(columns.data(), filters, axes, y + i * filters * out_size);
  }
}

Status eval_conv_transpose(EvalContext& context) {
  const auto& attrs = context.attrs<ConvTransposeAttrs>();
  const Tensor &x = context.input(0), &w = context.input(1);
  TUTTI_TRY(check_transpose(to_shape(x.dims()), to_shape(w.dims()), attrs.group));
  const auto axes = TUTTI_TRY(transposed_plans(attrs, x.dims(), w.dims()));
  Dims out_dims{x.dim(0), w.dim(1) * attrs.group};
  for (const WindowPlan& axis : axes) out_dims.push_back(axis.in);
  if (context.has_input(2)) TUTTI_TRY(require_dims(context.input(2), {out_dims[1]}, "B"));
  Tensor* out = TUTTI_TRY(context.output(0, x.dtype(), out_dims));
  with_compute_type(x.dtype(), [&]<class C>() {
    const ComputeView<C> image(x), weights(w);
    ComputeBuffer<C> buffer(out);
    const int64_t planes = out_dims[0] * out_dims[1], size = planes == 0 ? 0 : out->size() / planes;
    for (int64_t i = 0; i < planes; ++i)
      std::fill_n(buffer.data() + i * size, size,
                  context.has_input(2) ? static_cast<C>(context.input(2).get_double(i % out_dims[1])) : C(0));
    convolve_transposed<C>(axes, x.dims(), w.dims(), attrs.group, image.data(), weights.data(), buffer.data());
    buffer.store();
  });
  return ok_status();
}

}  // namespace

const OpDef kConvTranspose{.name = "ConvTranspose",
                           .min_inputs = 2,
                           .max_inputs = 3,
                           .make_attrs = make_attrs<ConvTransposeAttrs>,
                           .infer = infer_conv_transpose,
                           .eval = eval_conv_transpose};

}  // namespace tutti::ops
