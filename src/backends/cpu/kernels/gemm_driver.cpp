#include "backends/cpu/kernels/gemm_driver.h"

namespace tutti::cpu {
namespace {

constexpr int64_t kRowBlock =
    96;  // a multiple of both tile heights; 96 rows x 256 deep is 96 KiB of the second-level cache
constexpr double kTaskFlops = 2e6;    // about 25 us on one AVX2 core
constexpr int64_t kEnoughTasks = 16;  // so that a slow thread holds the others up by a sixteenth at most

int64_t round_up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

}  // namespace

GemmGrid::Block GemmGrid::block(int64_t task) const {
  const int64_t r = task % row_tasks(), c = task / row_tasks();
  return {r * row_block, std::min(rows, (r + 1) * row_block), c * column_block,
          std::min(columns, (c + 1) * column_block)};
}

GemmGrid make_gemm_grid(int64_t rows, int64_t depth, int64_t columns, int64_t max_rows) {
  const int64_t width = simd::panel_width();
  GemmGrid grid{rows, columns, std::max<int64_t>(rows, 1), std::max<int64_t>(round_up(columns, width), width)};
  const double flops = 2.0 * static_cast<double>(rows) * static_cast<double>(depth) * static_cast<double>(columns);
  const bool one_task = flops < kTaskFlops;
  // Blocks of equal height.
  if (!one_task && rows > 2 * kRowBlock) {
    const int64_t blocks = (rows + kRowBlock - 1) / kRowBlock;
    grid.row_block = round_up((rows + blocks - 1) / blocks, simd::tile_rows());
  }
  if (max_rows > 0) grid.row_block = std::min(grid.row_block, max_rows);
  if (one_task) return grid;
  const int64_t panels = grid.column_block / width;
  const int64_t affordable = std::max<int64_t>(1, static_cast<int64_t>(flops / kTaskFlops));
  const int64_t wanted = std::min({std::max<int64_t>(1, kEnoughTasks / grid.row_tasks()), affordable, panels});
  grid.column_block = (panels + wanted - 1) / wanted * width;
  return grid;
}

Result<std::shared_ptr<const ir::Tensor>> pack_constant(backend::PackedWeights& weights, const PackRequest& request) {
  const std::string form = fmt::format("gemm:f32:{}:w{}", request.form, simd::panel_width());
  return weights.get(request.source, form, [&]() -> Result<ir::Tensor> {
    const int64_t group_floats = simd::packed_floats(request.depth, request.columns);
    ir::Tensor packed = ir::Tensor::allocate(DType::kFloat32, {group_floats * request.groups});
    for (int64_t g = 0; g < request.groups; ++g) {
      const int64_t panels = (request.columns + simd::panel_width() - 1) / simd::panel_width();
      simd::pack_b(request.view(g), request.depth, request.columns, {0, panels},
                   packed.mutable_data<float>().data() + g * group_floats);
    }
    return packed;
  });
}

}  // namespace tutti::cpu
