// Convolutions of one or two spatial axes on float32 through the packed matrix product: the left side's rows are
// gathered by pointer in channels-last layout. Channels-first operands are converted in the workspace.
#include "backends/cpu/kernels/conv_shape.h"
#include "backends/cpu/kernels/gemm_driver.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/transpose_core.h"

namespace tutti::cpu {
namespace {

constexpr int64_t kTableEntries = 8192;  // pointers per task, on the stack
constexpr int64_t kPatchFloats = 16384;  // copied lines of windows per task, on the stack

// How the left side of the product is reached.
enum class Left : uint8_t {
  kRows,   // a 1x1 window on every pixel: the input is the left side
  kTaps,   // a pointer per pixel and tap
  kLines,  // few channels: a pointer per line of a window, whose pixels are neighbours; so the inner loop is long
};

struct PackedConv {
  ConvShape shape;
  GemmGrid grid;
  Left left = Left::kTaps;
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

Left left_of(const ConvShape& shape) {
  if (shape.taps() > 1) return shape.group_channels() < 16 ? Left::kLines : Left::kTaps;
  for (const WindowAxis& axis : shape.axes)
    if (axis.stride != 1 || axis.pad_begin != 0 || axis.out != axis.in) return Left::kTaps;
  return Left::kRows;
}

// 0: no bound.
int64_t max_block_rows(const ConvShape& shape) {
  switch (left_of(shape)) {
    case Left::kRows: return 0;
    case Left::kTaps: return kTableEntries / shape.taps();
    case Left::kLines: break;
  }
  return std::min(kTableEntries / shape.height().kernel,
                  kPatchFloats / std::max<int64_t>(1, shape.taps() * shape.group_channels()));
}

std::optional<Refusal> supports(const KernelQuery& query) {
  if (auto refusal = refuse_unless_float(query)) return refusal;
  const auto shape = conv_shape(query);
  if (!shape || shape->axes.size() > 2) return "takes one or two spatial axes and known activations only";
  if (!query.is_constant(1)) return "the weights are not constant";
  if (query.has_input(3) && query.inputs[3].dims != query.outputs[0].dims)
    return "the residual is not as large as the result";
  if (shape->group > 1 && shape->group_filters() < 4) return "groups of fewer than 4 filters";
  if (left_of(*shape) != Left::kRows && max_block_rows(*shape) < 1) return "the window is too large";
  return std::nullopt;
}

// A run of output points [first, first + count) that lie in one row of one image.
struct PixelRun {
  int64_t image, row, column, first, count;
};

// Calls f(run) for output points [begin, end), counted from `begin`.
template <class F>
void for_each_run(const ConvShape& shape, int64_t begin, int64_t end, F&& f) {
  const int64_t height = shape.height().out, width = shape.width().out;
  PixelRun run{begin / (height * width), begin / width % height, begin % width, 0, 0};
  while (run.first < end - begin) {
    run.count = std::min(width - run.column, end - begin - run.first);
    f(run);
    run.first += run.count;
    run.column = 0;
    if (++run.row == height) run.row = 0, ++run.image;
  }
}

// The input row that line `i` of a window reads, or null in the padding.
const float* input_row(const ConvShape& shape, const float* x, const PixelRun& run, int64_t i) {
  const WindowAxis h = shape.height();
  const int64_t row = run.row * h.stride + i * h.dilation - h.pad_begin;
  return row < 0 || row >= h.in ? nullptr : x + (run.image * h.in + row) * shape.width().in * shape.channels;
}

// Where tap `j` of a line reads for each pixel of a run; `zeros` outside of the row.
void point_at(const ConvShape& shape, const PixelRun& run, const float* row, int64_t j, const float* zeros,
              const float** table) {
  const WindowAxis w = shape.width();
  const int64_t start = run.column * w.stride + j * w.dilation - w.pad_begin;  // of the first pixel
  const int64_t before = start >= 0 ? 0 : std::min(run.count, (-start + w.stride - 1) / w.stride);
  const int64_t inside =
      row == nullptr || start >= w.in ? before : std::clamp((w.in - 1 - start) / w.stride + 1, before, run.count);
  std::fill(table, table + before, zeros);
  for (int64_t r = before; r < inside; ++r) table[r] = row + (start + r * w.stride) * shape.channels;
  std::fill(table + inside, table + run.count, zeros);
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

void run_by_rows(const PackedConv& s, const Pointers& at, const GemmGrid::Block& cell, int64_t group) {
  simd::GemmBlock g = make_block(s, at, cell, group);
  g.a_base = at.x + cell.row_begin * s.shape.channels + group * s.shape.group_channels();
  g.a_stride = s.shape.channels;
  g.channels = s.shape.group_channels();
  simd::gemm(g);
}

void run_by_taps(const PackedConv& s, const Pointers& at, const GemmGrid::Block& cell, int64_t group) {
  const float* table[kTableEntries];
  const int64_t lines = s.shape.height().kernel, taps = s.shape.width().kernel;
  const float* x = at.x + group * s.shape.group_channels();
  simd::GemmBlock g = make_block(s, at, cell, group);
  for_each_run(s.shape, cell.row_begin, cell.row_end, [&](const PixelRun& run) {
    for (int64_t i = 0; i < lines; ++i) {
      const float* row = input_row(s.shape, x, run, i);
      for (int64_t j = 0; j < taps; ++j)
        point_at(s.shape, run, row, j, s.zeros.data(), table + (i * taps + j) * g.rows + run.first);
    }
  });
  g.a = table;
  g.taps = s.shape.taps();
  g.channels = s.shape.group_channels();
  simd::gemm(g);
}

// Copies the line of a window that starts at `column` of an input row; zeros outside of the row.
void copy_line(const ConvShape& shape, const float* row, int64_t column, float* to) {
  const WindowAxis w = shape.width();
  const int64_t channels = shape.group_channels();
  for (int64_t j = 0; j < w.kernel; ++j, to += channels) {
    const int64_t at = column + j * w.dilation;
    if (at < 0 || at >= w.in) {
      std::fill(to, to + channels, 0.0f);
    } else {
      std::copy_n(row + at * shape.channels, channels, to);
    }
  }
}

// Where line `i` of the windows of a run starts. Lines inside of the row are read where they are, if nothing lies
// between their pixels; others are copied to `free`, which moves on.
void point_at_lines(const PackedConv& s, const PixelRun& run, const float* row, const float** to, float** free) {
  const WindowAxis w = s.shape.width();
  if (row == nullptr) {
    std::fill(to, to + run.count, s.zeros.data());
    return;
  }
  const bool joined = w.dilation == 1 && s.shape.group == 1;
  const int64_t begin = joined ? std::clamp(w.inner_begin() - run.column, int64_t{0}, run.count) : run.count;
  const int64_t end = joined ? std::clamp(w.inner_end() - run.column, begin, run.count) : run.count;
  auto copy = [&](int64_t r) {
    copy_line(s.shape, row, (run.column + r) * w.stride - w.pad_begin, *free);
    to[r] = *free;
    *free += w.kernel * s.shape.group_channels();
  };
  for (int64_t r = 0; r < begin; ++r) copy(r);
  const float* from = row + (run.column * w.stride - w.pad_begin) * s.shape.channels;
  for (int64_t r = begin; r < end; ++r) to[r] = from + r * w.stride * s.shape.channels;
  for (int64_t r = end; r < run.count; ++r) copy(r);
}

void run_by_lines(const PackedConv& s, const Pointers& at, const GemmGrid::Block& cell, int64_t group) {
  float patches[kPatchFloats];
  const float* table[kTableEntries];
  const int64_t lines = s.shape.height().kernel;
  const float* x = at.x + group * s.shape.group_channels();
  simd::GemmBlock g = make_block(s, at, cell, group);
  float* free = patches;
  for_each_run(s.shape, cell.row_begin, cell.row_end, [&](const PixelRun& run) {
    for (int64_t i = 0; i < lines; ++i)
      point_at_lines(s, run, input_row(s.shape, x, run, i), table + i * g.rows + run.first, &free);
  });
  g.a = table;
  g.taps = lines;
  g.channels = s.shape.width().kernel * s.shape.group_channels();
  simd::gemm(g);
}

void run_cell(const PackedConv& s, const Pointers& at, const GemmGrid::Block& cell, int64_t group) {
  switch (s.left) {
    case Left::kRows: return run_by_rows(s, at, cell, group);
    case Left::kTaps: return run_by_taps(s, at, cell, group);
    case Left::kLines: return run_by_lines(s, at, cell, group);
  }
}

void convolve(const PackedConv& s, ThreadPool& threads, const Pointers& at) {
  const int64_t tasks = s.grid.tasks();
  split(threads, tasks * s.shape.group, s.grid.task_nanoseconds + 20, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) run_cell(s, at, s.grid.block(i % tasks), i / tasks);
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
  s.left = left_of(s.shape);
  s.has_bias = query.has_input(2);
  s.has_residual = query.has_input(3);
  s.zeros.assign(static_cast<size_t>(s.shape.group_channels() * s.shape.width().kernel), 0.0f);
  if (product(query.outputs[0].dims) == 0) return make_kernel([](const RunContext&) { return ok_status(); });
  s.grid =
      make_gemm_grid(s.shape.batch * s.shape.out_points(), s.depth(), s.shape.group_filters(), max_block_rows(s.shape));
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
