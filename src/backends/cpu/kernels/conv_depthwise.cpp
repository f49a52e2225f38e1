// Depthwise convolution (one filter per channel) of one or two spatial axes on float32, computed in channels-last
// layout.
#include "backends/cpu/kernels/conv_shape.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/transpose_core.h"
#include "backends/cpu/simd/depthwise.h"

namespace tutti::cpu {
namespace {

constexpr int64_t kMaxKernelHeight = 64;
constexpr int64_t kChannelBlock = 128;  // a task is one output row by these channels

struct Depthwise {
  ConvShape shape;
  std::shared_ptr<const ir::Tensor> weights;  // [taps][channels]
  bool has_residual = false;

  int64_t x_floats() const { return shape.batch * shape.channels * shape.in_points(); }
  int64_t y_floats() const { return shape.batch * shape.channels * shape.out_points(); }
  size_t workspace() const {
    return shape.nhwc ? 0 : static_cast<size_t>(x_floats() + y_floats() * (has_residual ? 2 : 1)) * sizeof(float);
  }
};

std::optional<Refusal> supports(const KernelQuery& query) {
  if (auto refusal = refuse_unless_float(query)) return refusal;
  const auto shape = conv_shape(query);
  if (!shape || shape->axes.size() > 2) return "takes one or two spatial axes and known activations only";
  if (shape->group != shape->channels || shape->group != shape->filters || shape->group == 1) return "not depthwise";
  if (!query.is_constant(1)) return "the weights are not constant";
  if (query.has_input(3) && query.inputs[3].dims != query.outputs[0].dims)
    return "the residual is not as large as the result";
  if (shape->height().kernel > kMaxKernelHeight) return "the window is too high";
  return std::nullopt;
}

struct Pointers {
  const float* x;
  const float* bias;
  const float* residual;
  float* y;
};

void run_row(const Depthwise& s, const Pointers& at, int64_t row, int64_t block) {
  const WindowAxis h = s.shape.height(), w = s.shape.width();
  const int64_t channels = s.shape.channels, image = row / h.out, y = row % h.out;
  const float* rows[kMaxKernelHeight];
  for (int64_t i = 0; i < h.kernel; ++i) {
    const int64_t source = y * h.stride + i * h.dilation - h.pad_begin;
    rows[i] = source >= 0 && source < h.in ? at.x + (image * h.in + source) * w.in * channels : nullptr;
  }
  simd::DepthwiseRow p;
  p.channels = channels;
  p.channel_begin = block * kChannelBlock;
  p.channel_end = std::min(channels, p.channel_begin + kChannelBlock);
  p.in_width = w.in;
  p.out_width = w.out;
  p.kernel_height = h.kernel;
  p.kernel_width = w.kernel;
  p.stride = w.stride;
  p.dilation = w.dilation;
  p.pad = w.pad_begin;
  p.rows = rows;
  p.weights = s.weights->data<float>().data();
  p.bias = at.bias;
  p.residual = at.residual ? at.residual + row * w.out * channels : nullptr;
  p.residual_first = s.shape.residual_first;
  p.activation = s.shape.activation;
  p.alpha = s.shape.alpha;
  p.beta = s.shape.beta;
  p.out = at.y + row * w.out * channels;
  simd::depthwise_row(p);
}

void convolve(const Depthwise& s, ThreadPool& threads, const Pointers& at) {
  const int64_t blocks = (s.shape.channels + kChannelBlock - 1) / kChannelBlock,
                rows = s.shape.batch * s.shape.height().out;
  const double work = static_cast<double>(s.shape.taps() * std::min(s.shape.channels, kChannelBlock)) *
                      static_cast<double>(s.shape.width().out);
  split(threads, rows * blocks, work / 30 + 20, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) run_row(s, at, i / blocks, i % blocks);
  });
}

Status run(const Depthwise& s, const RunContext& context) {
  Pointers at{input<float>(context, 0), input<float>(context, 2), input<float>(context, 3), output<float>(context, 0)};
  if (s.shape.nhwc) {
    convolve(s, context.threads, at);
    return ok_status();
  }
  float* x = static_cast<float*>(context.workspace);
  float* y = x + s.x_floats();
  float* residual = y + s.y_floats();
  const MatrixBatch in{s.shape.batch, s.shape.channels, s.shape.in_points()},
      out{s.shape.batch, s.shape.channels, s.shape.out_points()};
  transpose_matrices(context.threads, in, sizeof(float), at.x, x);
  if (at.residual) transpose_matrices(context.threads, out, sizeof(float), at.residual, residual);
  convolve(s, context.threads, {x, at.bias, at.residual ? residual : nullptr, y});
  transpose_matrices(context.threads, {out.batch, out.columns, out.rows}, sizeof(float), y, at.y);
  return ok_status();
}

Result<std::unique_ptr<Kernel>> prepare(const PrepareContext& context) {
  Depthwise s;
  s.shape = *conv_shape(context.query);
  s.has_residual = context.query.has_input(3);
  if (product(context.query.outputs[0].dims) == 0) return make_kernel([](const RunContext&) { return ok_status(); });
  const ir::Tensor& w = *context.query.constants[1];
  s.weights = TUTTI_TRY(context.weights.get(w, "depthwise:f32:tc", [&]() -> Result<ir::Tensor> {
    const int64_t taps = s.shape.taps(), channels = s.shape.channels;
    ir::Tensor packed = ir::Tensor::allocate(DType::kFloat32, {taps, channels});
    float* to = packed.mutable_data<float>().data();
    const float* from = w.data<float>().data();
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t t = 0; t < taps; ++t) to[t * channels + c] = from[c * taps + t];
    return packed;
  }));
  const size_t workspace = s.workspace();
  return make_kernel([s = std::move(s)](const RunContext& c) { return run(s, c); }, workspace);
}

}  // namespace

const KernelDef kDepthwiseConv{.name = "vector.depthwise_conv", .supports = supports, .prepare = prepare};

}  // namespace tutti::cpu
