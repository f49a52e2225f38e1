// 3x3 convolutions of stride 1 in channels-last layout by Winograd's F(2x2, 3x3): 2.25 times fewer multiplications, as
// 16 matrix products over transformed patches. Only where the map is large enough for the products to have many rows,
// which is decided per image, so that an image gives the same bits in any batch.
#include <atomic>

#include "backends/cpu/kernels/conv_shape.h"
#include "backends/cpu/kernels/gemm_driver.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/simd/winograd.h"

namespace tutti::cpu {
namespace {

constexpr int64_t kPositions = 16;  // of a transformed patch
constexpr int64_t kFewestTiles = 40;
constexpr int64_t kMostPanelColumns = 64;    // AVX-512 panels have 32
constexpr int64_t kChunkFloats = 512 << 10;  // of both sides' transformed patches, so that they stay in the caches

struct Winograd {
  ConvShape shape;
  int64_t rows = 0, columns = 0;  // of tiles, per image
  int64_t chunk = 0;              // tiles transformed at a time
  std::shared_ptr<const ir::Tensor> weights;
  std::vector<float> zeros;  // what padding points to

  int64_t tiles() const { return shape.batch * rows * columns; }
  int64_t left_floats() const { return kPositions * chunk * shape.channels; }
  int64_t right_floats() const { return kPositions * chunk * shape.filters; }
  size_t workspace() const {
    return static_cast<size_t>(left_floats() + right_floats()) * sizeof(float) + static_cast<size_t>(chunk);
  }
};

int64_t half(int64_t points) { return (points + 1) / 2; }

std::optional<Refusal> supports(const KernelQuery& query) {
  if (auto refusal = refuse_unless_float(query)) return refusal;
  const auto shape = conv_shape(query);
  if (!shape || !shape->nhwc || shape->axes.size() != 2) return "takes two spatial axes, channels last";
  for (const WindowAxis& a : shape->axes)
    if (a.kernel != 3 || a.stride != 1 || a.dilation != 1) return "not 3x3 of stride 1";
  if (shape->group != 1 || shape->channels % 16 != 0 || shape->filters % 16 != 0 || shape->channels < 32)
    return "the channels are grouped, few, or no multiple of 16";
  if (half(shape->height().out) * half(shape->width().out) < kFewestTiles) return "the map is small";
  if (!query.is_constant(1)) return "the weights are not constant";
  if (simd::panel_width() > kMostPanelColumns) return "the vectors are too wide";
  if (query.has_input(3) && query.inputs[3].dims != query.outputs[0].dims)
    return "the residual is not as large as the result";
  return std::nullopt;
}

struct Memory {
  const float *x, *bias, *residual;
  float* y;
  float *left, *right;  // workspace
  uint8_t* odd;         // per tile of the chunk: has sums that are no finite numbers
};

struct Tile {
  int64_t image, row, column;  // of its first output
};
Tile tile_at(const Winograd& s, int64_t i) {
  return {i / (s.rows * s.columns), i / s.columns % s.rows * 2, i % s.columns * 2};
}

void transform_patch(const Winograd& s, const Memory& at, int64_t first, int64_t i) {
  const WindowAxis h = s.shape.height(), w = s.shape.width();
  const Tile tile = tile_at(s, first + i);
  const float* pixels[kPositions];
  for (int64_t p = 0; p < kPositions; ++p) {
    const int64_t row = tile.row - h.pad_begin + p / 4, column = tile.column - w.pad_begin + p % 4;
    const bool inside = row >= 0 && row < h.in && column >= 0 && column < w.in;
    pixels[p] = inside ? at.x + ((tile.image * h.in + row) * w.in + column) * s.shape.channels : s.zeros.data();
  }
  simd::winograd_input(pixels, s.shape.channels, at.left + i * s.shape.channels, s.chunk * s.shape.channels);
}

simd::WinogradOutput output_of(const Winograd& s, const Memory& at, const Tile& tile) {
  const int64_t height = s.shape.height().out, width = s.shape.width().out, filters = s.shape.filters;
  simd::WinogradOutput t;
  t.channels = filters;
  t.bias = at.bias;
  for (int i = 0; i < 4; ++i) {
    const int64_t row = tile.row + i / 2, column = tile.column + i % 2;
    if (row >= height || column >= width) continue;
    const int64_t offset = ((tile.image * height + row) * width + column) * filters;
    t.out[i] = at.y + offset;
    if (at.residual != nullptr) t.residual[i] = at.residual + offset;
  }
  t.residual_first = s.shape.residual_first;
  t.activation = s.shape.activation;
  t.alpha = s.shape.alpha;
  t.beta = s.shape.beta;
  return t;
}

bool transform_back(const Winograd& s, const Memory& at, int64_t first, int64_t i) {
  simd::WinogradOutput t = output_of(s, at, tile_at(s, first + i));
  t.m = at.right + i * s.shape.filters;
  t.stride = s.chunk * s.shape.filters;
  return simd::winograd_output(t);
}

void multiply(const Winograd& s, ThreadPool& threads, const Memory& at, int64_t count) {
  const int64_t channels = s.shape.channels, filters = s.shape.filters;
  const GemmGrid grid = make_gemm_grid(count, channels, filters);
  const float* packed = s.weights->data<float>().data();
  split(threads, kPositions * grid.tasks(), grid.task_nanoseconds + 20, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t p = i / grid.tasks();
      const GemmGrid::Block cell = grid.block(i % grid.tasks());
      simd::GemmBlock g;
      g.a_base = at.left + (p * s.chunk + cell.row_begin) * channels;
      g.a_stride = channels;
      g.rows = cell.row_end - cell.row_begin;
      g.channels = channels;
      g.packed_b = packed + p * simd::packed_floats(channels, filters);
      g.column_begin = cell.column_begin;
      g.column_end = std::min(filters, cell.column_end);
      g.c = at.right + (p * s.chunk + cell.row_begin) * filters;
      g.c_stride = filters;
      simd::gemm(g);
    }
  });
}

// One tap of the filters [first, first + count) of one panel, out of their 16 transformed values: g0 = u0, g1 = u1 -
// u2, g2 = u3 in each direction.
void recover_tap(const Winograd& s, int64_t tap, int64_t channel, int64_t first, int64_t count, float* taps) {
  static constexpr float kBack[3][4] = {{1, 0, 0, 0}, {0, 1, -1, 0}, {0, 0, 0, 1}};
  const int64_t channels = s.shape.channels, step = simd::packed_floats(channels, s.shape.filters);
  const float* u = s.weights->data<float>().data() + first * channels + channel * simd::panel_width();
  std::fill_n(taps, count, 0.0f);
  for (int64_t p = 0; p < kPositions; ++p)
    if (const float factor = kBack[tap / 3][p / 4] * kBack[tap % 3][p % 4]; factor != 0)
      for (int64_t f = 0; f < count; ++f) taps[f] += factor * u[p * step + f];
}

// One tile by the definition, so that an infinite pixel reaches the outputs only whose window holds it.
void convolve_plainly(const Winograd& s, const Memory& at, int64_t first, int64_t i) {
  const WindowAxis h = s.shape.height(), w = s.shape.width();
  const int64_t channels = s.shape.channels, filters = s.shape.filters;
  const Tile tile = tile_at(s, first + i);
  // As transformed sums: position 0 reaches output 0 alone, 3 output 1, 12 output 2, and 15 output 3; the signs of 3
  // and 12 change.
  static constexpr int kOnly[4] = {0, 3, 12, 15};
  float* sums = at.right + i * filters;
  for (int64_t p = 0; p < kPositions; ++p) std::fill_n(sums + p * s.chunk * filters, filters, 0.0f);
  const auto add_pixels = [&](int64_t tap, int64_t c, int64_t begin, int64_t count, const float* taps) {
    for (int64_t o = 0; o < 4; ++o) {
      const int64_t row = tile.row + o / 2 - h.pad_begin + tap / 3,
                    column = tile.column + o % 2 - w.pad_begin + tap % 3;
      if (row < 0 || row >= h.in || column < 0 || column >= w.in) continue;
      const float pixel = at.x[((tile.image * h.in + row) * w.in + column) * channels + c];
      const float sign = o == 1 || o == 2 ? -1.0f : 1.0f;
      float* sum = sums + kOnly[o] * s.chunk * filters + begin;
      for (int64_t f = 0; f < count; ++f) sum[f] += sign * pixel * taps[f];
    }
  };
  float taps[kMostPanelColumns];
  for (int64_t begin = 0; begin < filters; begin += simd::panel_width()) {
    const int64_t count = std::min(simd::panel_width(), filters - begin);
    for (int64_t tap = 0; tap < 9; ++tap)
      for (int64_t c = 0; c < channels; ++c) {
        recover_tap(s, tap, c, begin, count, taps);
        add_pixels(tap, c, begin, count, taps);
      }
  }
  transform_back(s, at, first, i);
}

void convolve_chunk(const Winograd& s, ThreadPool& threads, const Memory& at, int64_t first) {
  const int64_t count = std::min(s.chunk, s.tiles() - first);
  const double in_cost = 1.5 * static_cast<double>(s.shape.channels),
               out_cost = 1.5 * static_cast<double>(s.shape.filters);
  split(threads, count, in_cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) transform_patch(s, at, first, i);
  });
  multiply(s, threads, at, count);
  std::atomic<bool> any_odd{false};
  split(threads, count, out_cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      at.odd[i] = !transform_back(s, at, first, i);
      if (at.odd[i]) any_odd.store(true, std::memory_order_relaxed);
    }
  });
  if (!any_odd.load()) return;
  split(threads, count, 1e6, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      if (at.odd[i]) convolve_plainly(s, at, first, i);
  });
}

Status run(const Winograd& s, const RunContext& context) {
  Memory at{};
  at.x = input<float>(context, 0);
  at.bias = input<float>(context, 2);
  at.residual = input<float>(context, 3);
  at.y = output<float>(context, 0);
  at.left = static_cast<float*>(context.workspace);
  at.right = at.left + s.left_floats();
  at.odd = reinterpret_cast<uint8_t*>(at.right + s.right_floats());
  for (int64_t first = 0; first < s.tiles(); first += s.chunk) convolve_chunk(s, context.threads, at, first);
  return ok_status();
}

// [position][channel][filter] from [filter][channel][3][3].
std::vector<float> transform_weights(const ConvShape& shape, const float* w) {
  const int64_t step = shape.channels * shape.filters;
  std::vector<float> u(static_cast<size_t>(kPositions * step));
  for (int64_t f = 0; f < shape.filters; ++f)
    for (int64_t c = 0; c < shape.channels; ++c)
      simd::winograd_window(w + (f * shape.channels + c) * 9, 1, u.data() + c * shape.filters + f, step);
  return u;
}

Result<std::unique_ptr<Kernel>> prepare(const PrepareContext& context) {
  const KernelQuery& query = context.query;
  Winograd s;
  s.shape = *conv_shape(query);
  s.rows = half(s.shape.height().out);
  s.columns = half(s.shape.width().out);
  if (s.tiles() == 0) return make_kernel([](const RunContext&) { return ok_status(); });
  const int64_t most = std::max<int64_t>(48, kChunkFloats / (kPositions * (s.shape.channels + s.shape.filters)));
  const int64_t chunks = (s.tiles() + most - 1) / most;
  s.chunk = (s.tiles() + chunks - 1) / chunks;
  s.zeros.assign(static_cast<size_t>(s.shape.channels), 0.0f);
  const ir::Tensor& w = *query.constants[1];
  const int64_t step = s.shape.channels * s.shape.filters;
  std::vector<float> u;
  s.weights = TUTTI_TRY(
      pack_constant(context.weights, {w, "winograd", s.shape.channels, s.shape.filters, kPositions, [&](int64_t p) {
                                        if (p == 0) u = transform_weights(s.shape, w.data<float>().data());
                                        return simd::MatrixView{u.data() + p * step, s.shape.filters, 1};
                                      }}));
  const size_t workspace = s.workspace();
  return make_kernel([s = std::move(s)](const RunContext& c) { return run(s, c); }, workspace);
}

}  // namespace

const KernelDef kWinogradConv{.name = "winograd.conv", .supports = supports, .prepare = prepare};

}  // namespace tutti::cpu
