// MaxPool and AveragePool of one or two spatial axes on float32, and their channels-last form. Computed channels-last:
// the workspace holds the converted operands of the channels-first form.
#include <limits>

#include "backends/cpu/kernels/conv_shape.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/transpose_core.h"
#include "backends/cpu/simd/rows.h"

namespace tutti::cpu {
namespace {

struct Pool {
  WindowAxis h, w;
  int64_t batch = 0, channels = 0;
  bool average = false, count_padding = false, nhwc = false;
  int64_t pad_end_h = 0, pad_end_w = 0;

  int64_t in_points() const { return h.in * w.in; }
  int64_t out_points() const { return h.out * w.out; }
  size_t workspace() const {
    return nhwc ? 0 : static_cast<size_t>(batch * channels * (in_points() + out_points())) * sizeof(float);
  }
};

int64_t at_or(const std::vector<int64_t>& values, size_t i, int64_t fallback) {
  return i < values.size() ? values[i] : fallback;
}

std::optional<Refusal> supports(const KernelQuery& query) {
  if (auto refusal = refuse_unless_float(query)) return refusal;
  if (query.outputs.size() > 1 && query.outputs[1].present()) return "indices are wanted";
  const size_t rank = query.inputs[0].dims.size();
  if (rank != 3 && rank != 4) return "takes one or two spatial axes only";
  return std::nullopt;
}

// Sets the padding before the input and returns that behind it: as much as the windows need, the odd one behind
// (SAME_UPPER) or before (SAME_LOWER); none for VALID.
int64_t set_automatic_padding(std::string_view mode, WindowAxis& axis) {
  const int64_t reach = (axis.out - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1;
  const int64_t total = mode == "VALID" ? 0 : std::max<int64_t>(0, reach - axis.in);
  axis.pad_begin = mode == "SAME_LOWER" ? total - total / 2 : total / 2;
  return total - axis.pad_begin;
}

Pool pool_of(const KernelQuery& query) {
  Pool p;
  const Dims &x = query.inputs[0].dims, &y = query.outputs[0].dims;
  p.nhwc = query.op.name.starts_with("tutti.");
  p.average = query.op.name == "AveragePool" || query.op.name == "tutti.AveragePoolNhwc";
  p.count_padding =
      ir::attr_int(query.attrs, "count_include_pad") != 0 || ir::attr_bool(query.attrs, "count_include_pad");
  p.batch = x[0];
  p.channels = p.nhwc ? x.back() : x[1];
  const size_t spatial = x.size() - 2, first = p.nhwc ? 1 : 2;
  const auto kernel = ir::attr_ints(query.attrs, "kernel_shape"), strides = ir::attr_ints(query.attrs, "strides");
  const auto pads = ir::attr_ints(query.attrs, "pads"), dilations = ir::attr_ints(query.attrs, "dilations");
  const std::string auto_pad = ir::attr_string(query.attrs, "auto_pad");
  for (size_t i = 0; i < spatial; ++i) {
    WindowAxis axis{x[first + i],         y[first + i],           kernel[i],
                    at_or(strides, i, 1), at_or(dilations, i, 1), at_or(pads, i, 0)};
    int64_t pad_end = at_or(pads, spatial + i, 0);
    if (!auto_pad.empty() && auto_pad != "NOTSET") pad_end = set_automatic_padding(auto_pad, axis);
    const bool is_width = i + 1 == spatial;
    (is_width ? p.w : p.h) = axis;
    (is_width ? p.pad_end_w : p.pad_end_h) = pad_end;
  }
  return p;
}

// Taps of one axis that lie inside the padded input: what an average counts when padding counts.
int64_t padded_taps(const WindowAxis& a, int64_t pad_end, int64_t o) {
  int64_t n = 0;
  for (int64_t k = 0; k < a.kernel; ++k) n += o * a.stride + k * a.dilation - a.pad_begin < a.in + pad_end;
  return n;
}

void pool_pixel(const Pool& p, const float* image, int64_t y, int64_t x, float* out) {
  std::fill(out, out + p.channels, p.average ? 0.0f : -std::numeric_limits<float>::infinity());
  int64_t taps = 0;
  for (int64_t i = 0; i < p.h.kernel; ++i) {
    const int64_t row = y * p.h.stride + i * p.h.dilation - p.h.pad_begin;
    if (row < 0 || row >= p.h.in) continue;
    for (int64_t j = 0; j < p.w.kernel; ++j) {
      const int64_t column = x * p.w.stride + j * p.w.dilation - p.w.pad_begin;
      if (column < 0 || column >= p.w.in) continue;
      const float* from = image + (row * p.w.in + column) * p.channels;
      if (p.average)
        simd::add_into(from, out, p.channels);
      else
        simd::max_into(from, out, p.channels);
      ++taps;
    }
  }
  if (!p.average) return;
  if (p.count_padding) taps = padded_taps(p.h, p.pad_end_h, y) * padded_taps(p.w, p.pad_end_w, x);
  const auto count = static_cast<float>(taps);
  for (int64_t c = 0; c < p.channels; ++c) out[c] /= count;
}

void pool_all(const Pool& p, ThreadPool& threads, const float* x, float* y) {
  const double cost = static_cast<double>(p.h.kernel * p.w.kernel) * (0.2 * static_cast<double>(p.channels) + 5);
  split(threads, p.batch * p.out_points(), cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / p.out_points(), point = i % p.out_points();
      pool_pixel(p, x + image * p.in_points() * p.channels, point / p.w.out, point % p.w.out, y + i * p.channels);
    }
  });
}

Status run(const Pool& p, const RunContext& c) {
  if (p.nhwc) {
    pool_all(p, c.threads, input<float>(c, 0), output<float>(c, 0));
    return ok_status();
  }
  float* x = static_cast<float*>(c.workspace);
  float* y = x + p.batch * p.channels * p.in_points();
  transpose_matrices(c.threads, {p.batch, p.channels, p.in_points()}, sizeof(float), c.inputs[0], x);
  pool_all(p, c.threads, x, y);
  transpose_matrices(c.threads, {p.batch, p.out_points(), p.channels}, sizeof(float), y, c.outputs[0]);
  return ok_status();
}

Result<std::unique_ptr<Kernel>> prepare(const PrepareContext& context) {
  const Pool p = pool_of(context.query);
  if (product(context.query.outputs[0].dims) == 0) return make_kernel([](const RunContext&) { return ok_status(); });
  return make_kernel([p](const RunContext& c) { return run(p, c); }, p.workspace());
}

}  // namespace

const KernelDef kPool{.name = "vector.pool", .supports = supports, .prepare = prepare};

}  // namespace tutti::cpu
