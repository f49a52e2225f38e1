// Convolutions of one or two spatial axes on float32 through the packed matrix product: the left side's rows are
// gathered by pointer in channels-last layout. Channels-first operands are converted in the workspace.
#include "backends/cpu/kernels/conv_shape.h"
#include "backends/cpu/kernels/gemm_driver.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/transpose_core.h"

namespace tutti::cpu {
namespace {

constexpr int64_t kTableEntries = 8192;  // pointers per task, on the stack
constexpr int64_t kPatchFloats = 16384;  // copied patches per task, on the stack

struct PackedConv {
  ConvShape shape;
  GemmGrid grid;
  bool copy_patches = false;  // few channels: patches are copied together, so that the inner loop is long
  bool has_bias = false, has_residual = false;
  std::shared_ptr<const ir::Tensor> weights;
  std::vector<float> zeros;  // what padding points to

  int64_t depth() const { return shape.taps() * shape.group_channels(); }
  int64_t x_floats() const { return shape.batch * shape.channels * shape.in_points(); }
  int64_t y_floats() const { return shape.batch * shape.filters * shape.out_points(); }
  size_t workspace() const {
    if (shape.nhwc) return 0;
    return static_cast<size_t>(x_floats() + y_floats() * (has_residual ? 2 : 1)) * sizeof(float);
  }
};

int64_t max_block_rows(const ConvShape& shape, bool copy_patches) {
  const int64_t rows = kTableEntries / std::max<int64_t>(1, shape.taps());
  return copy_patches ? std::min(rows, kPatchFloats / (shape.taps() * shape.group_channels())) : rows;
}

bool few_channels(const ConvShape& shape) { return shape.group_channels() < 16 && shape.taps() > 1; }

std::optional<Refusal> supports(const KernelQuery& query) {
  if (auto refusal = refuse_unless_float(query)) return refusal;
  const auto shape = conv_shape(query);
  if (!shape || shape->axes.size() > 2) return "takes one or two spatial axes and known activations only";
  if (!query.is_constant(1)) return "the weights are not constant";
  if (query.has_input(3) && query.inputs[3].dims != query.outputs[0].dims)
    return "the residual is not as large as the result";
  if (shape->group > 1 && shape->group_filters() < 4) return "groups of fewer than 4 filters";
  if (max_block_rows(*shape, few_channels(*shape)) < 1) return "the window is too large";
  return std::nullopt;
}

// Calls f(tap, row, pointer) for each tap of output points [begin, end).
template <class F>
void for_each_tap(const PackedConv& s, const float* x, int64_t begin, int64_t end, F&& f) {
  const WindowAxis h = s.shape.height(), w = s.shape.width();
  const int64_t points = h.out * w.out, c = s.shape.channels;
  for (int64_t r = begin; r < end; ++r) {
    const int64_t image = r / points, y = r % points / w.out, column = r % w.out;
    const float* base = x + image * h.in * w.in * c;
    for (int64_t i = 0; i < h.kernel; ++i) {
      const int64_t row = y * h.stride + i * h.dilation - h.pad_begin;
      const bool row_inside = row >= 0 && row < h.in;
      for (int64_t j = 0; j < w.kernel; ++j) {
        const int64_t at = column * w.stride + j * w.dilation - w.pad_begin;
        const bool inside = row_inside && at >= 0 && at < w.in;
        f(i * w.kernel + j, r - begin, inside ? base + (row * w.in + at) * c : nullptr);
      }
    }
  }
}

struct Pointers {
  const float* x;
  const float* bias;
  const float* residual;
  float* y;
};

simd::GemmBlock make_block(const PackedConv& s, const Pointers& at, const GemmGrid::Block& cell, int64_t group) {
  const int64_t filters = s.shape.filters, first = group * s.shape.group_filters();
  simd::GemmBlock g;
  g.rows = cell.row_end - cell.row_begin;
  g.packed_b = s.weights->data<float>().data() + group * simd::packed_floats(s.depth(), s.shape.group_filters());
  g.column_begin = cell.column_begin;
  g.column_end = cell.column_end;
  g.c = at.y + cell.row_begin * filters + first;
  g.c_stride = filters;
  g.epilogue.bias = at.bias ? at.bias + first : nullptr;
  g.epilogue.residual = at.residual ? at.residual + cell.row_begin * filters + first : nullptr;
  g.epilogue.residual_stride = filters;
  g.epilogue.residual_first = s.shape.residual_first;
  g.epilogue.activation = s.shape.activation;
  g.epilogue.alpha = s.shape.alpha;
  g.epilogue.beta = s.shape.beta;
  return g;
}

void run_by_pointers(const PackedConv& s, const Pointers& at, const GemmGrid::Block& cell, int64_t group) {
  const float* table[kTableEntries];
  const int64_t offset = group * s.shape.group_channels();
  simd::GemmBlock g = make_block(s, at, cell, group);
  for_each_tap(s, at.x, cell.row_begin, cell.row_end, [&](int64_t tap, int64_t row, const float* from) {
    table[tap * g.rows + row] = from ? from + offset : s.zeros.data();
  });
  g.a = table;
  g.taps = s.shape.taps();
  g.channels = s.shape.group_channels();
  simd::gemm(g);
}

void run_by_copies(const PackedConv& s, const Pointers& at, const GemmGrid::Block& cell, int64_t group) {
  float patches[kPatchFloats];
  const float* rows[kTableEntries];
  const int64_t channels = s.shape.group_channels(), offset = group * channels, depth = s.depth();
  simd::GemmBlock g = make_block(s, at, cell, group);
  for_each_tap(s, at.x, cell.row_begin, cell.row_end, [&](int64_t tap, int64_t row, const float* from) {
    float* to = patches + row * depth + tap * channels;
    for (int64_t c = 0; c < channels; ++c) to[c] = from ? from[offset + c] : 0.0f;
  });
  for (int64_t r = 0; r < g.rows; ++r) rows[r] = patches + r * depth;
  g.a = rows;
  g.channels = depth;
  simd::gemm(g);
}

void convolve(const PackedConv& s, ThreadPool& threads, const Pointers& at) {
  const int64_t tasks = s.grid.tasks();
  const double flops = 2.0 * static_cast<double>(s.grid.rows * s.depth()) * static_cast<double>(s.grid.columns) /
                       static_cast<double>(tasks);
  split(threads, tasks * s.shape.group, flops / 60 + 20, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      (s.copy_patches ? run_by_copies : run_by_pointers)(s, at, s.grid.block(i % tasks), i / tasks);
  });
}

Status run(const PackedConv& s, const RunContext& context) {
  Pointers at{input<float>(context, 0), input<float>(context, 2), input<float>(context, 3), output<float>(context, 0)};
  if (s.shape.nhwc) {
    convolve(s, context.threads, at);
    return ok_status();
  }
  float* x = static_cast<float*>(context.workspace);
  float* y = x + s.x_floats();
  float* residual = y + s.y_floats();
  const MatrixBatch in{s.shape.batch, s.shape.channels, s.shape.in_points()},
      out{s.shape.batch, s.shape.filters, s.shape.out_points()};
  transpose_matrices(context.threads, in, sizeof(float), at.x, x);
  if (at.residual) transpose_matrices(context.threads, out, sizeof(float), at.residual, residual);
  convolve(s, context.threads, {x, at.bias, at.residual ? residual : nullptr, y});
  transpose_matrices(context.threads, {out.batch, out.columns, out.rows}, sizeof(float), y, at.y);
  return ok_status();
}

// Weights [M, C/group, taps] of one group as a depth x filters matrix, depth ordered by tap, then channel.
std::vector<float> reorder_weights(const ConvShape& shape, const float* w, int64_t group) {
  const int64_t filters = shape.group_filters(), channels = shape.group_channels(), taps = shape.taps();
  std::vector<float> out(static_cast<size_t>(filters * channels * taps));
  const float* from = w + group * filters * channels * taps;
  for (int64_t m = 0; m < filters; ++m)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t t = 0; t < taps; ++t)
        out[static_cast<size_t>((t * channels + c) * filters + m)] = from[(m * channels + c) * taps + t];
  return out;
}

Result<std::unique_ptr<Kernel>> prepare(const PrepareContext& context) {
  const KernelQuery& query = context.query;
  PackedConv s;
  s.shape = *conv_shape(query);
  s.copy_patches = few_channels(s.shape);
  s.has_bias = query.has_input(2);
  s.has_residual = query.has_input(3);
  s.zeros.assign(static_cast<size_t>(s.shape.group_channels()), 0.0f);
  if (product(query.outputs[0].dims) == 0) return make_kernel([](const RunContext&) { return ok_status(); });
  s.grid = make_gemm_grid(s.shape.batch * s.shape.out_points(), s.depth(), s.shape.group_filters(),
                          max_block_rows(s.shape, s.copy_patches));
  const ir::Tensor& w = *query.constants[1];
  std::vector<float> reordered;
  s.weights =
      TUTTI_TRY(pack_constant(context.weights, {w, fmt::format("conv:g{}", s.shape.group), s.depth(),
                                                s.shape.group_filters(), s.shape.group, [&](int64_t g) {
                                                  reordered = reorder_weights(s.shape, w.data<float>().data(), g);
                                                  return simd::MatrixView{reordered.data(), s.shape.group_filters(), 1};
                                                }}));
  const size_t workspace = s.workspace();
  return make_kernel([s = std::move(s)](const RunContext& c) { return run(s, c); }, workspace);
}

}  // namespace

const KernelDef kPackedConv{.name = "packed.conv", .supports = supports, .prepare = prepare};

}  // namespace tutti::cpu
