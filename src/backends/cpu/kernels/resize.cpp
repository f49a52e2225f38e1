// Resize: nearest on any type (resize_nearest.h), linear and cubic on float32, axis by axis from tables of positions
// and weights. The two axes of an image are done together, row by row, so that nothing goes through memory in between.
#include <limits>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/resize_nearest.h"
#include "backends/cpu/simd/resample.h"
#include "ops/resize_plan.h"

namespace tutti::cpu {
namespace {

using ops::ResizeAttrs;
using ops::ResizeAxis;

// One axis of [outer, in, inner]: tap t of output o is at [o * taps + t] (`by_tap`: at [t * out + o], for rows of
// elements). Every output has equally many taps.
struct AxisTable {
  int64_t outer = 1, in = 1, out = 1, inner = 1, taps = 1;
  std::vector<int32_t> positions;
  std::vector<float> weights;
  std::vector<int64_t> extrapolated;  // outputs that are the extrapolation value
  float extrapolation = 0;

  bool is_extrapolated(int64_t o) const { return std::binary_search(extrapolated.begin(), extrapolated.end(), o); }
  simd::RowTaps row_taps(int64_t o, int64_t stride) const {
    return {positions.data() + o * taps, weights.data() + o * taps, taps, stride};
  }
};

// Missing taps halve the first one, which changes no sum: a weight of zero would make NaN of an infinity.
void pad_taps(ops::ResizeTaps& taps, size_t count) {
  if (taps.weights.empty()) taps.positions = {0}, taps.weights = {0};
  while (taps.weights.size() < count) {
    taps.weights[0] /= 2;
    taps.positions.push_back(taps.positions[0]);
    taps.weights.push_back(taps.weights[0]);
  }
}

AxisTable make_table(const ResizeAttrs& attrs, const ResizeAxis& axis, bool by_tap) {
  AxisTable table;
  table.in = axis.in;
  table.out = axis.out;
  table.extrapolation = attrs.extrapolation_value;
  std::vector<ops::ResizeTaps> all;
  for (int64_t o = 0; o < axis.out; ++o) {
    all.push_back(ops::resize_taps(attrs, axis, o));
    table.taps = std::max(table.taps, static_cast<int64_t>(all.back().weights.size()));
    if (all.back().extrapolated) table.extrapolated.push_back(o);
  }
  table.positions.resize(static_cast<size_t>(axis.out * table.taps));
  table.weights.resize(table.positions.size());
  for (int64_t o = 0; o < axis.out; ++o) {
    ops::ResizeTaps& taps = all[static_cast<size_t>(o)];
    pad_taps(taps, static_cast<size_t>(table.taps));
    for (int64_t t = 0; t < table.taps; ++t) {
      const auto at = static_cast<size_t>(by_tap ? t * axis.out + o : o * table.taps + t);
      table.positions[at] = static_cast<int32_t>(taps.positions[static_cast<size_t>(t)]);
      table.weights[at] = static_cast<float>(taps.weights[static_cast<size_t>(t)]);
    }
  }
  return table;
}

// One row of elements along the last axis.
void resize_row(const AxisTable& table, const float* src, float* dst) {
  simd::weighted_elements(src, {table.positions.data(), table.weights.data(), table.taps}, dst, table.out);
  for (int64_t o : table.extrapolated) dst[o] = table.extrapolation;
}

// Output row `o` of [in, inner], rows `inner` long.
void blend_rows(const AxisTable& table, int64_t o, const float* src, float* dst) {
  if (table.is_extrapolated(o))
    std::fill_n(dst, table.inner, table.extrapolation);
  else
    simd::weighted_rows(src, table.row_taps(o, table.inner), dst, table.inner);
}

void run_axis(const AxisTable& table, ThreadPool& threads, const float* src, float* dst) {
  const double per_tap = table.inner == 1 ? 1.0 : 0.2;
  if (table.inner == 1)
    return split(threads, table.outer, per_tap * static_cast<double>(table.out * table.taps) + 10,
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) resize_row(table, src + i * table.in, dst + i * table.out);
                 });
  split(threads, table.outer * table.out, per_tap * static_cast<double>(table.inner * table.taps) + 10,
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            blend_rows(table, i % table.out, src + i / table.out * table.in * table.inner, dst + i * table.inner);
        });
}

// --- images: rows, then columns

constexpr int64_t kMaxRow = 4096;      // floats of an input row that is blended on the stack
constexpr int64_t kMaxPixelTaps = 16;  // of both axes together, for images with channels last

struct Image {
  AxisTable rows, columns;
  int64_t channels() const { return columns.inner; }
};

// Channels first: each output row is blended from input rows, then resized.
void run_planes(const Image& image, const RunContext& c) {
  const AxisTable &h = image.rows, &w = image.columns;
  const double cost = static_cast<double>(w.out * w.taps) + 0.2 * static_cast<double>(h.inner * h.taps) + 10;
  split(c.threads, h.outer * h.out, cost, [&](int64_t begin, int64_t end) {
    float row[kMaxRow];
    for (int64_t i = begin; i < end; ++i) {
      blend_rows(h, i % h.out, input<float>(c, 0) + i / h.out * h.in * h.inner, row);
      resize_row(w, row, output<float>(c, 0) + i * w.out);
    }
  });
}

// Channels last: each pixel is one sum over the taps of both axes.
void resize_pixel(const Image& image, int64_t y, int64_t x, const float* src, float* dst) {
  const AxisTable &h = image.rows, &w = image.columns;
  if (h.is_extrapolated(y) || w.is_extrapolated(x)) {
    std::fill_n(dst, image.channels(), h.extrapolation);
    return;
  }
  int32_t positions[kMaxPixelTaps];
  float weights[kMaxPixelTaps];
  const simd::RowTaps in_y = h.row_taps(y, 0), in_x = w.row_taps(x, 0);
  for (int64_t i = 0; i < h.taps; ++i)
    for (int64_t j = 0; j < w.taps; ++j) {
      positions[i * w.taps + j] = static_cast<int32_t>(in_y.positions[i] * w.in + in_x.positions[j]);
      weights[i * w.taps + j] = in_y.weights[i] * in_x.weights[j];
    }
  simd::weighted_rows(src, {positions, weights, h.taps * w.taps, image.channels()}, dst, image.channels());
}

void run_pixels(const Image& image, const RunContext& c) {
  const AxisTable &h = image.rows, &w = image.columns;
  const double cost = 0.2 * static_cast<double>(h.taps * w.taps * image.channels()) + 20;
  split(c.threads, h.outer * h.out * w.out, cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t point = i % (h.out * w.out), n = i / (h.out * w.out);
      resize_pixel(image, point / w.out, point % w.out, input<float>(c, 0) + n * h.in * w.in * image.channels(),
                   output<float>(c, 0) + i * image.channels());
    }
  });
}

// --- any axes

struct Chain {
  std::vector<AxisTable> tables;
  int64_t largest = 0;  // floats between two axes

  size_t workspace() const {
    return tables.size() < 2 ? 0 : static_cast<size_t>(tables.size() == 2 ? 1 : 2) * static_cast<size_t>(largest) * 4;
  }
};

void run_chain(const Chain& chain, const RunContext& c) {
  const float* src = input<float>(c, 0);
  for (size_t i = 0; i < chain.tables.size(); ++i) {
    const bool last = i + 1 == chain.tables.size();
    float* dst = last ? output<float>(c, 0) : static_cast<float*>(c.workspace) + (i % 2 == 0 ? 0 : chain.largest);
    run_axis(chain.tables[i], c.threads, src, dst);
    src = dst;
  }
}

Chain make_chain(const ResizeAttrs& attrs, const std::vector<ResizeAxis>& plan, Dims dims) {
  Chain chain;
  for (size_t axis = 0; axis < plan.size(); ++axis) {
    if (ops::is_identity(attrs, plan[axis])) continue;
    const int64_t outer = product(dims, 0, axis), inner = product(dims, axis + 1, dims.size());
    AxisTable& table = chain.tables.emplace_back(make_table(attrs, plan[axis], inner == 1));
    table.outer = outer;
    table.inner = inner;
    dims[axis] = plan[axis].out;
    chain.largest = std::max(chain.largest, product(dims));
  }
  return chain;
}

// Two neighbouring axes: the first one's rows are the second one's input.
bool is_image(const Chain& chain) {
  if (chain.tables.size() != 2) return false;
  const AxisTable &rows = chain.tables[0], &columns = chain.tables[1];
  return rows.inner == columns.in * columns.inner && rows.in * columns.in <= std::numeric_limits<int32_t>::max();
}

Result<std::unique_ptr<Kernel>> make_interpolation(const ResizeAttrs& attrs, const std::vector<ResizeAxis>& plan,
                                                   const Dims& dims) {
  Chain chain = make_chain(attrs, plan, dims);
  if (chain.tables.empty()) {
    const auto bytes = static_cast<size_t>(product(dims)) * sizeof(float);
    return make_kernel([bytes](const RunContext& c) {
      std::copy_n(static_cast<const char*>(c.inputs[0]), bytes, static_cast<char*>(c.outputs[0]));
      return ok_status();
    });
  }
  if (is_image(chain)) {
    Image image{chain.tables[0], chain.tables[1]};
    const bool planes = image.channels() == 1 && image.rows.inner <= kMaxRow;
    const bool pixels = image.channels() >= 4 && image.rows.taps * image.columns.taps <= kMaxPixelTaps;
    if (planes || pixels)
      return make_kernel([image = std::move(image), planes](const RunContext& c) {
        planes ? run_planes(image, c) : run_pixels(image, c);
        return ok_status();
      });
  }
  const size_t workspace = chain.workspace();
  return make_kernel(
      [chain = std::move(chain)](const RunContext& c) {
        run_chain(chain, c);
        return ok_status();
      },
      workspace);
}

std::optional<Refusal> supports(const KernelQuery& query) {
  const auto& attrs = query.attributes<ResizeAttrs>();
  const TensorDesc& x = query.inputs[0];
  for (size_t i = 1; i < query.inputs.size(); ++i)
    if (query.has_input(i) && product(query.inputs[i].dims) > 0 && !query.is_constant(i))
      return "roi, scales or sizes are not known before the run";
  for (int64_t dim : x.dims)
    if (dim > std::numeric_limits<int32_t>::max()) return "an axis of more than 2^31 elements";
  if (ops::copies_elements(attrs, x.dtype))
    return is_byte_type(x.dtype) ? std::nullopt : std::optional<Refusal>("elements are not whole bytes");
  if (x.dtype != DType::kFloat32) return "interpolates float32 only";
  return std::nullopt;
}

Result<std::unique_ptr<Kernel>> prepare(const PrepareContext& context) {
  const KernelQuery& query = context.query;
  const auto& attrs = query.attributes<ResizeAttrs>();
  const auto given = [&](size_t i) { return query.is_constant(i) ? query.constants[i] : nullptr; };
  const std::vector<ResizeAxis> plan =
      TUTTI_TRY(ops::plan_resize(attrs, query.inputs[0].dims, {given(1), given(2), given(3)}));
  if (product(query.outputs[0].dims) == 0) return make_kernel([](const RunContext&) { return ok_status(); });
  if (ops::copies_elements(attrs, query.inputs[0].dtype) && !plan.empty())
    return make_nearest(attrs, plan, element_bytes(query.inputs[0].dtype));
  if (query.inputs[0].dtype != DType::kFloat32) return Error(Code::kUnsupported, "a scalar that is not float32");
  return make_interpolation(attrs, plan, query.inputs[0].dims);
}

}  // namespace

const KernelDef kResize{.name = "vector.resize", .supports = supports, .prepare = prepare};

}  // namespace tutti::cpu
