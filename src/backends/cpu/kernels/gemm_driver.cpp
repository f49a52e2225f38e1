#include "backends/cpu/kernels/gemm_driver.h"

#include <sys/mman.h>

namespace tutti::cpu {
namespace {

// A multiple of both tile heights; 96 rows x 320 deep is 120 KiB of the second-level cache.
constexpr int64_t kRowBlock = 96;
constexpr double kTaskNanoseconds = 8000;  // some ten times what handing out a task costs
constexpr int64_t kEnoughTasks = 16;       // so that a slow thread holds the others up by a sixteenth at most
constexpr int64_t kFewRows = 3;            // products that take four panels at a time

int64_t round_up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

// On one AVX2 core: the arithmetic, or reading the right side where few rows share it.
double nanoseconds(int64_t rows, int64_t depth, int64_t columns) {
  const double right = static_cast<double>(depth) * static_cast<double>(columns);
  return std::max(2.0 * static_cast<double>(rows) * right / 80, 4 * right / 20);
}

// Weights are read from end to end in every run: on huge pages fewer addresses are looked up, and the processor's
// prefetchers, which stop at the end of a page, run on. Advice only; for the whole huge pages inside.
void advise_huge_pages(void* begin, size_t size_bytes) {
  constexpr size_t kHugePage = size_t{2} << 20;
  const auto address = reinterpret_cast<uintptr_t>(begin);
  const uintptr_t first = (address + kHugePage - 1) / kHugePage * kHugePage;
  const uintptr_t last = (address + size_bytes) / kHugePage * kHugePage;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}

}  // namespace

GemmGrid::Block GemmGrid::block(int64_t task) const {
  const int64_t r = task % row_tasks(), c = task / row_tasks();
  return {r * row_block, std::min(rows, (r + 1) * row_block), c * column_block,
          std::min(columns, (c + 1) * column_block)};
}

GemmGrid make_gemm_grid(int64_t rows, int64_t depth, int64_t columns, int64_t max_rows) {
  const int64_t width = simd::panel_width() * (rows <= kFewRows ? 4 : 1);
  GemmGrid grid{rows, columns, std::max<int64_t>(rows, 1), std::max<int64_t>(round_up(columns, width), width)};
  const double total = nanoseconds(rows, depth, columns);
  // Blocks of equal height.
  if (total >= kTaskNanoseconds && rows > 2 * kRowBlock) {
    const int64_t blocks = (rows + kRowBlock - 1) / kRowBlock;
    grid.row_block = round_up((rows + blocks - 1) / blocks, simd::tile_rows());
  }
  if (max_rows > 0) grid.row_block = std::min(grid.row_block, max_rows);
  const int64_t groups = grid.column_block / width;
  const int64_t affordable = std::max<int64_t>(1, static_cast<int64_t>(total / kTaskNanoseconds));
  const int64_t wanted = std::min({std::max<int64_t>(1, kEnoughTasks / grid.row_tasks()), affordable, groups});
  grid.column_block = (groups + wanted - 1) / wanted * width;
  grid.task_nanoseconds = total / static_cast<double>(grid.tasks());
  return grid;
}

Result<std::shared_ptr<const ir::Tensor>> pack_constant(backend::PackedWeights& weights, const PackRequest& request) {
  const std::string form = fmt::format("gemm:f32:{}:w{}", request.form, simd::panel_width());
  return weights.get(request.source, form, [&]() -> Result<ir::Tensor> {
    const int64_t group_floats = simd::packed_floats(request.depth, request.columns);
    ir::Tensor packed = ir::Tensor::allocate(DType::kFloat32, {group_floats * request.groups});
    advise_huge_pages(packed.mutable_raw(), packed.size_bytes());
    for (int64_t g = 0; g < request.groups; ++g) {
      const int64_t panels = (request.columns + simd::panel_width() - 1) / simd::panel_width();
      simd::pack_b(request.view(g), request.depth, request.columns, {0, panels},
                   packed.mutable_data<float>().data() + g * group_floats);
    }
    return packed;
  });
}

}  // namespace tutti::cpu
