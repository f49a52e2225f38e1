#include <algorithm>

#include "ops/conv.h"
#include "ops/infer_common.h"
#include "ops/quantize.h"
#include "ops/quantize_util.h"

namespace tutti::ops {
namespace {

using ir::DType;
using ir::EvalContext;
using ir::InferContext;
using ir::Tensor;

bool is_byte(DType d) { return d == DType::kUInt8 || d == DType::kInt8; }

Status infer_integer_conv(InferContext& context, int weight, DType out) {
  const auto& attrs = context.attrs<ConvAttrs>();
  TUTTI_TRY(expect_kind(context, 0, is_byte, "int8 or uint8"));
  TUTTI_TRY(expect_kind(context, weight, is_byte, "int8 or uint8"));
  context.set_output(0, ir::ValueType::tensor(out, TUTTI_TRY(infer_conv_shape(context, attrs, attrs.group, weight))));
  return ok_status();
}

Status infer_conv_integer(InferContext& context) { return infer_integer_conv(context, 1, DType::kInt32); }

Status infer_qlinear_conv(InferContext& context) {
  TUTTI_TRY(expect_kind(context, 7, is_byte, "int8 or uint8"));
  return infer_integer_conv(context, 3, context.dtype(7));
}

// The data minus its zero point, which is one element or (for weights) one per filter.
Result<std::vector<int32_t>> centred(const Tensor& data, const Tensor* zero) {
  std::vector<int32_t> out(static_cast<size_t>(data.size()));
  const int64_t zeros = zero ? zero->size() : 1;
  if (zeros != 1 && (data.rank() == 0 || zeros != data.dim(0)))
    return make_error(Code::kInvalidInput, "the zero point of {} has {} elements, expected 1 or one per filter",
                      data.type_text(), zeros);
  const int64_t block = zeros == 1 ? std::max<int64_t>(data.size(), 1) : std::max<int64_t>(data.size() / zeros, 1);
  for (int64_t i = 0; i < data.size(); ++i)
    out[static_cast<size_t>(i)] = static_cast<int32_t>(data.get_int(i) - (zero ? zero->get_int(i / block) : 0));
  return out;
}

struct Signal {
  const int32_t *x, *w;  // one image's group of channels, one filter
};

// One output element: the sum over the group's channels and the kernel at window position `at`.
int64_t window_sum(const ConvPlan& plan, const Signal& in, const std::vector<int64_t>& at,
                   const std::vector<int64_t>& kernel_dims) {
  int64_t plane = 1, kernel = 1;
  for (const WindowPlan& axis : plan.axes) {
    plane *= axis.in;
    kernel *= axis.kernel;
  }
  int64_t sum = 0;
  std::vector<int64_t> k(plan.axes.size(), 0);
  for (int64_t tap = 0; tap < kernel; ++tap, next_index(k, std::span<const int64_t>(kernel_dims))) {
    int64_t offset = 0;
    bool inside = true;
    for (size_t d = 0; d < k.size(); ++d) {
      const WindowPlan& axis = plan.axes[d];
      const int64_t position = at[d] * axis.stride - axis.pad_begin + k[d] * axis.dilation;
      inside = inside && position >= 0 && position < axis.in;
      offset = offset * axis.in + position;
    }
    if (!inside) continue;
    for (int64_t c = 0; c < plan.channels / plan.group; ++c)
      sum += int64_t{in.x[c * plane + offset]} * in.w[c * kernel + tap];
  }
  return sum;
}

// Sums in the order of the output's elements; they wrap to 32 bits.
std::vector<int32_t> convolve(const ConvPlan& plan, const std::vector<int32_t>& x, const std::vector<int32_t>& w) {
  std::vector<int32_t> out(static_cast<size_t>(ir::element_count(plan.out_dims)));
  if (out.empty()) return out;
  std::vector<int64_t> kernel_dims, out_dims;
  int64_t plane = 1, kernel = 1, windows = 1;
  for (const WindowPlan& axis : plan.axes) {
    kernel_dims.push_back(axis.kernel);
    out_dims.push_back(axis.out);
    plane *= axis.in;
    kernel *= axis.kernel;
    windows *= axis.out;
  }
  const int64_t group_channels = plan.channels / plan.group, group_filters = plan.filters / plan.group;
  size_t to = 0;
  for (int64_t n = 0; n < plan.batch; ++n)
    for (int64_t f = 0; f < plan.filters; ++f) {
      const int64_t first = n * plan.channels + f / group_filters * group_channels;
      const Signal in{x.data() + first * plane, w.data() + f * group_channels * kernel};
      std::vector<int64_t> at(plan.axes.size(), 0);
      for (int64_t i = 0; i < windows; ++i, next_index(at, std::span<const int64_t>(out_dims)))
        out[to++] = static_cast<int32_t>(window_sum(plan, in, at, kernel_dims));
    }
  return out;
}

Status eval_conv_integer(EvalContext& context) {
  const auto& attrs = context.attrs<ConvAttrs>();
  const Tensor &x = context.input(0), &w = context.input(1);
  const ConvPlan plan = TUTTI_TRY(plan_conv(attrs, attrs.group, x.dims(), w.dims()));
  if (context.has_input(2) && context.input(2).size() != 1)
    return Error(Code::kUnsupported, "ConvInteger with a zero point per channel of x is not supported");
  const auto x_data = TUTTI_TRY(centred(x, context.has_input(2) ? &context.input(2) : nullptr));
  const auto w_data = TUTTI_TRY(centred(w, context.has_input(3) ? &context.input(3) : nullptr));
  const auto sums = convolve(plan, x_data, w_data);
  context.set_output(0, Tensor::from<int32_t>(plan.out_dims, std::span(sums)));
  return ok_status();
}

Status eval_qlinear_conv(EvalContext& context) {
  const auto& attrs = context.attrs<ConvAttrs>();
  const Tensor &x = context.input(0), &w = context.input(3), &w_scale = context.input(4);
  const ConvPlan plan = TUTTI_TRY(plan_conv(attrs, attrs.group, x.dims(), w.dims()));
  const QuantParams x_params = TUTTI_TRY(read_quant_params(context, 1, 2)),
                    y_params = TUTTI_TRY(read_quant_params(context, 6, 7));
  if (w_scale.size() != 1 && w_scale.size() != plan.filters)
    return make_error(Code::kInvalidInput, "w_scale is {}, expected 1 or {} elements", w_scale.type_text(),
                      plan.filters);
  const Tensor* bias = context.has_input(8) ? &context.input(8) : nullptr;
  if (bias && bias->size() != plan.filters)
    return make_error(Code::kInvalidInput, "the bias is {}, expected {} elements", bias->type_text(), plan.filters);
  const auto x_data = TUTTI_TRY(centred(x, &context.input(2)));
  const auto w_data = TUTTI_TRY(centred(w, &context.input(5)));
  const auto sums = convolve(plan, x_data, w_data);
  Tensor& out = *TUTTI_TRY(context.output(0, context.input(7).dtype(), plan.out_dims));
  const IntRange range = integer_range(out.dtype());
  const int64_t per_filter =
      plan.batch * plan.filters == 0 ? 1 : std::max<int64_t>(1, out.size() / (plan.batch * plan.filters));
  for (int64_t i = 0; i < out.size(); ++i) {
    const int64_t f = i / per_filter % plan.filters;
    const float scale =
        x_params.scale * static_cast<float>(w_scale.get_double(w_scale.size() == 1 ? 0 : f)) / y_params.scale;
    const double sum =
        static_cast<double>(sums[static_cast<size_t>(i)]) + (bias ? static_cast<double>(bias->get_int(f)) : 0.0);
    out.set_int(i, quantize_value(sum * static_cast<double>(scale), y_params.zero_point, range));
  }
  return ok_status();
}

}  // namespace

const ir::OpDef kConvInteger{.name = "ConvInteger",
                             .min_inputs = 2,
                             .max_inputs = 4,
                             .make_attrs = ir::make_attrs<ConvAttrs>,
                             .infer = infer_conv_integer,
                             .eval = eval_conv_integer,
                             .tolerance = ir::Tolerance::kExact};
const ir::OpDef kQLinearConv{.name = "QLinearConv",
                             .min_inputs = 8,
                             .max_inputs = 9,
                             .make_attrs = ir::make_attrs<ConvAttrs>,
                             .infer = infer_qlinear_conv,
                             .eval = eval_qlinear_conv,
                             .tolerance = ir::Tolerance::kApproximate};

}  // namespace tutti::ops
