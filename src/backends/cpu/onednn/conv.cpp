// Convolutions of one to three spatial axes on float32 by oneDNN: the shapes that the packed kernels leave. Split over
// images.
#include "backends/cpu/kernels/conv_shape.h"
#include "backends/cpu/onednn/onednn_kernels.h"
#include "backends/cpu/onednn/per_image.h"

namespace tutti::cpu {
namespace {

using dnnl::memory;
using namespace onednn;

struct Spatial {
  memory::dims strides, dilations, pads_begin, pads_end;
};

Spatial spatial_of(const ConvShape& shape) {
  Spatial s;
  for (const WindowAxis& a : shape.axes) {
    s.strides.push_back(a.stride);
    s.dilations.push_back(a.dilation - 1);
    s.pads_begin.push_back(a.pad_begin);
    s.pads_end.push_back(
        std::max<int64_t>(0, (a.out - 1) * a.stride + (a.kernel - 1) * a.dilation + 1 - a.in - a.pad_begin));
  }
  return s;
}

// One image in logical order [1, C, spatial...], stored in the node's layout.
memory::desc image_desc(const ConvShape& shape, int64_t channels, bool output) {
  memory::dims dims{1, channels};
  int64_t points = 1;
  for (const WindowAxis& a : shape.axes) {
    dims.push_back(output ? a.out : a.in);
    points *= dims.back();
  }
  if (!shape.nhwc) return plain_desc(dims);
  memory::dims strides = row_major(dims);
  strides[0] = points * channels;
  strides[1] = 1;
  for (size_t i = 2; i < dims.size(); ++i) strides[i] *= channels;
  return {dims, memory::data_type::f32, strides};
}

memory::desc weights_desc(const ConvShape& shape, bool any) {
  memory::dims dims{shape.group_filters(), shape.group_channels()};
  if (shape.group > 1) dims.insert(dims.begin(), shape.group);
  for (const WindowAxis& a : shape.axes) dims.push_back(a.kernel);
  return any ? memory::desc(dims, memory::data_type::f32, memory::format_tag::any) : plain_desc(dims);
}

std::optional<Refusal> supports(const KernelQuery& query) {
  if (auto refusal = refuse_unless_float(query)) return refusal;
  const auto shape = conv_shape(query);
  if (!shape || shape->axes.size() > 3) return "takes one to three spatial axes and known activations only";
  if (!query.is_constant(1)) return "the weights are not constant";
  if (query.has_input(3) && query.inputs[3].dims != query.outputs[0].dims)
    return "the residual is not as large as the result";
  if (product(query.outputs[0].dims) == 0 || product(query.inputs[0].dims) == 0) return "an empty tensor";
  dnnl::post_ops unused;
  if (!append_activation(unused, shape->activation, shape->alpha, shape->beta)) return "oneDNN has no such activation";
  return std::nullopt;
}

dnnl::post_ops post_ops_of(const ConvShape& shape, const memory::desc& y, bool residual, int& residual_index) {
  dnnl::post_ops ops;
  if (residual && shape.residual_first) ops.append_binary(dnnl::algorithm::binary_add, y);
  append_activation(ops, shape.activation, shape.alpha, shape.beta);
  if (residual && !shape.residual_first) ops.append_binary(dnnl::algorithm::binary_add, y);
  residual_index = residual ? (shape.residual_first ? 0 : ops.len() - 1) : -1;
  return ops;
}

// Layouts that oneDNN picks follow from the problem, the machine being one.
std::string problem_text(const ConvShape& shape) {
  std::string text =
      fmt::format("conv:{}:g{}:{}:{}", shape.nhwc ? "nhwc" : "nchw", shape.group, shape.channels, shape.filters);
  for (const WindowAxis& a : shape.axes)
    text += fmt::format(":{},{},{},{},{},{}", a.in, a.out, a.kernel, a.stride, a.dilation, a.pad_begin);
  return text + fmt::format(":a{}r{}", static_cast<int>(shape.activation), shape.residual_first);
}

Result<std::unique_ptr<Kernel>> prepare(const PrepareContext& context) {
  return guarded("this convolution", [&]() -> Result<std::unique_ptr<Kernel>> {
    const KernelQuery& query = context.query;
    const ConvShape shape = *conv_shape(query);
    const Spatial s = spatial_of(shape);
    PerImage k{.engine = dnnl::engine(dnnl::engine::kind::cpu, 0)};
    k.x = image_desc(shape, shape.channels, false);
    k.y = image_desc(shape, shape.filters, true);
    k.bias = query.has_input(2) ? plain_desc({shape.filters}) : memory::desc();
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    attr.set_post_ops(post_ops_of(shape, k.y, query.has_input(3), k.residual_index));
    const dnnl::convolution_forward::primitive_desc desc(
        k.engine, dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, k.x,
        weights_desc(shape, true), k.bias, k.y, s.strides, s.dilations, s.pads_begin, s.pads_end, attr);
    TUTTI_TRY(refuse_reference(desc.impl_info_str()));
    k.primitive = dnnl::convolution_forward(desc);
    k.w = desc.weights_desc();
    k.scratch = desc.scratchpad_desc();
    k.weights = TUTTI_TRY(
        pack(context.weights, k.engine, {*query.constants[1], weights_desc(shape, false), k.w, problem_text(shape)}));
    k.batch = shape.batch;
    k.x_floats = shape.channels * shape.in_points();
    k.y_floats = shape.filters * shape.out_points();
    const size_t workspace = k.workspace();
    return make_kernel([k = std::move(k)](const RunContext& c) { return k.run(c); }, workspace);
  });
}

}  // namespace

const KernelDef kOneDnnConv{.name = "onednn.conv", .supports = supports, .prepare = prepare};

}  // namespace tutti::cpu
