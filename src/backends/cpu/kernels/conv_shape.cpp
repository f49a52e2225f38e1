#include "backends/cpu/kernels/conv_shape.h"

namespace tutti::cpu {
namespace {

int64_t at_or(const std::vector<int64_t>& values, size_t i, int64_t fallback) {
  return i < values.size() ? values[i] : fallback;
}

int64_t begin_pad(const std::string& auto_pad, const WindowAxis& axis) {
  if (auto_pad == "VALID") return 0;
  const int64_t total =
      std::max<int64_t>(0, (axis.out - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1 - axis.in);
  return auto_pad == "SAME_LOWER" ? total - total / 2 : total / 2;
}

// Activation of com.microsoft FusedConv.
bool contrib_activation(const KernelQuery& query, ConvShape& shape) {
  const std::string name = ir::attr_string(query.attrs, "activation");
  if (name == "Relu") shape.activation = ops::Activation::kRelu;
  return name.empty() || name == "Relu";
}

void fused_attributes(const KernelQuery& query, ConvShape& shape) {
  const auto& a = query.attributes<ops::FusedConvAttrs>();
  shape.nhwc = a.layout == ops::ConvLayout::kNhwc;
  shape.activation = a.activation;
  shape.alpha = a.alpha;
  shape.beta = a.beta;
  shape.residual_first = a.residual_first;
}

}  // namespace

int64_t ConvShape::taps() const {
  int64_t n = 1;
  for (const WindowAxis& a : axes) n *= a.kernel;
  return n;
}
int64_t ConvShape::in_points() const {
  int64_t n = 1;
  for (const WindowAxis& a : axes) n *= a.in;
  return n;
}
int64_t ConvShape::out_points() const {
  int64_t n = 1;
  for (const WindowAxis& a : axes) n *= a.out;
  return n;
}

std::optional<ConvShape> conv_shape(const KernelQuery& query) {
  ConvShape shape;
  if (query.op.name == "tutti.FusedConv") fused_attributes(query, shape);
  if (query.op.name == "FusedConv" && !contrib_activation(query, shape)) return std::nullopt;
  const Dims &x = query.inputs[0].dims, &w = query.inputs[1].dims, &y = query.outputs[0].dims;
  if (x.size() < 3) return std::nullopt;
  const size_t first = shape.nhwc ? 1 : 2, spatial = x.size() - 2;
  shape.batch = x[0];
  shape.channels = shape.nhwc ? x.back() : x[1];
  shape.filters = w[0];
  shape.group = ir::attr_int(query.attrs, "group", 1);
  const auto pads = ir::attr_ints(query.attrs, "pads"), strides = ir::attr_ints(query.attrs, "strides");
  const auto dilations = ir::attr_ints(query.attrs, "dilations");
  const std::string auto_pad = ir::attr_string(query.attrs, "auto_pad");
  for (size_t i = 0; i < spatial; ++i) {
    WindowAxis axis{x[first + i],         y[first + i],           w[2 + i],
                    at_or(strides, i, 1), at_or(dilations, i, 1), at_or(pads, i, 0)};
    if (!auto_pad.empty() && auto_pad != "NOTSET") axis.pad_begin = begin_pad(auto_pad, axis);
    shape.axes.push_back(axis);
  }
  return shape;
}

}  // namespace tutti::cpu
