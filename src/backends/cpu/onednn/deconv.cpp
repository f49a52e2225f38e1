// ConvTranspose of one to three spatial axes on float32 by oneDNN, split over images.
#include "backends/cpu/onednn/onednn_kernels.h"
#include "backends/cpu/onednn/per_image.h"

namespace tutti::cpu {
namespace {

using dnnl::memory;
using namespace onednn;

struct Shape {
  int64_t batch = 0, channels = 0, filters = 0, group = 1;
  memory::dims in, out, kernel, strides, dilations, pads_begin, pads_end;

  memory::dims image(int64_t c, const memory::dims& spatial) const {
    memory::dims dims{1, c};
    dims.insert(dims.end(), spatial.begin(), spatial.end());
    return dims;
  }
};

int64_t at_or(const std::vector<int64_t>& values, size_t i, int64_t fallback) {
  return i < values.size() ? values[i] : fallback;
}

Shape shape_of(const KernelQuery& query) {
  const Dims &x = query.inputs[0].dims, &w = query.inputs[1].dims, &y = query.outputs[0].dims;
  Shape s{x[0], x[1], y[1], ir::attr_int(query.attrs, "group", 1)};
  const auto strides = ir::attr_ints(query.attrs, "strides"), dilations = ir::attr_ints(query.attrs, "dilations"),
             pads = ir::attr_ints(query.attrs, "pads");
  for (size_t i = 0; i + 2 < x.size(); ++i) {
    s.in.push_back(x[2 + i]);
    s.out.push_back(y[2 + i]);
    s.kernel.push_back(w[2 + i]);
    s.strides.push_back(at_or(strides, i, 1));
    s.dilations.push_back(at_or(dilations, i, 1) - 1);
    s.pads_begin.push_back(at_or(pads, i, 0));
    // What the other numbers leave: output padding makes it smaller, below zero even.
    const int64_t full = (s.in[i] - 1) * s.strides[i] + (s.kernel[i] - 1) * (s.dilations[i] + 1) + 1;
    s.pads_end.push_back(full - s.out[i] - s.pads_begin[i]);
  }
  return s;
}

// W is [C, M/group, kernel...]; oneDNN's order is [group, M/group, C/group, kernel...].
memory::dims weight_dims(const Shape& s) {
  memory::dims dims{s.group, s.filters / s.group, s.channels / s.group};
  dims.insert(dims.end(), s.kernel.begin(), s.kernel.end());
  if (s.group == 1) dims.erase(dims.begin());
  return dims;
}
memory::desc plain_weights(const Shape& s) {
  const memory::dims dims = weight_dims(s);
  memory::dims strides = row_major(dims);
  const size_t filter = s.group == 1 ? 0 : 1;
  strides[filter] = strides[filter + 1];
  strides[filter + 1] = strides[filter] * dims[filter];
  return {dims, memory::data_type::f32, strides};
}

std::optional<Refusal> supports(const KernelQuery& query) {
  if (auto refusal = refuse_unless_float(query)) return refusal;
  const size_t rank = query.inputs[0].dims.size();
  if (rank < 3 || rank > 5) return "takes one to three spatial axes only";
  if (!query.is_constant(1)) return "the weights are not constant";
  const std::string auto_pad = ir::attr_string(query.attrs, "auto_pad", "NOTSET");
  if (auto_pad != "NOTSET" || !ir::attr_ints(query.attrs, "output_shape").empty())
    return "pads follow from the output's shape";
  if (product(query.outputs[0].dims) == 0 || product(query.inputs[0].dims) == 0) return "an empty tensor";
  for (int64_t pad : shape_of(query).pads_end)
    if (pad < 0) return "output padding beyond the pads";
  return std::nullopt;
}

Result<std::unique_ptr<Kernel>> prepare(const PrepareContext& context) {
  return guarded("this transposed convolution", [&]() -> Result<std::unique_ptr<Kernel>> {
    const Shape s = shape_of(context.query);
    PerImage k{.engine = dnnl::engine(dnnl::engine::kind::cpu, 0)};
    k.x = plain_desc(s.image(s.channels, s.in));
    k.y = plain_desc(s.image(s.filters, s.out));
    k.bias = context.query.has_input(2) ? plain_desc({s.filters}) : memory::desc();
    const memory::desc any(weight_dims(s), memory::data_type::f32, memory::format_tag::any);
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::deconvolution_forward::primitive_desc desc(k.engine, dnnl::prop_kind::forward_inference,
                                                           dnnl::algorithm::deconvolution_direct, k.x, any, k.bias, k.y,
                                                           s.strides, s.dilations, s.pads_begin, s.pads_end, attr);
    TUTTI_TRY(refuse_reference(desc.impl_info_str()));
    k.primitive = dnnl::deconvolution_forward(desc);
    k.w = desc.weights_desc();
    k.scratch = desc.scratchpad_desc();
    const std::string problem = fmt::format("deconv:g{}:{}:{}:{}", s.group, ir::dims_text(s.in),
                                            ir::dims_text(s.strides), ir::dims_text(s.dilations));
    k.weights =
        TUTTI_TRY(pack(context.weights, k.engine, {*context.query.constants[1], plain_weights(s), k.w, problem}));
    k.batch = s.batch;
    k.x_floats = product(context.query.inputs[0].dims) / s.batch;
    k.y_floats = product(context.query.outputs[0].dims) / s.batch;
    const size_t workspace = k.workspace();
    return make_kernel([k = std::move(k)](const RunContext& c) { return k.run(c); }, workspace);
  });
}

}  // namespace

const KernelDef kOneDnnDeconv{.name = "onednn.deconv", .supports = supports, .prepare = prepare};

}  // namespace tutti::cpu
