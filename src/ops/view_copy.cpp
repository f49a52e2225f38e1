#include "ops/view_copy.h"

#include "ops/broadcast.h"
#include "ops/elements.h"

namespace tutti::ops {

using ir::Dims;
using ir::Tensor;

void strided_copy(Tensor& out, const Tensor& src, int64_t base, const Dims& strides) {
  StridedWalk(out.dims(), {strides})
      .for_each_run([&](int64_t begin, int64_t count, const int64_t* at, const int64_t* step) {
        copy_run(out, begin, src, base + at[0], step[0], count);
      });
}

namespace {

// One row along the last axis: runs of consecutive source positions are copied whole.
void copy_row(Tensor& out, int64_t to, const Tensor& src, int64_t from, const std::vector<int64_t>& map) {
  for (size_t k = 0; k < map.size();) {
    size_t end = k + 1;
    while (end < map.size() && map[k] >= 0 && map[end] == map[end - 1] + 1) ++end;
    if (map[k] >= 0) copy_run(out, to + static_cast<int64_t>(k), src, from + map[k], 1, static_cast<int64_t>(end - k));
    k = end;
  }
}

}  // namespace

void mapped_copy(Tensor& out, const Tensor& src, const std::vector<std::vector<int64_t>>& maps, const Tensor& fill) {
  if (out.size() == 0) return;
  bool holes = false;
  for (const auto& map : maps)
    for (int64_t at : map) holes = holes || at < 0;
  if (holes) fill_run(out, 0, out.size(), fill);
  if (maps.empty()) return copy_element(out, 0, src, 0);
  const Dims strides = ir::row_major_strides(src.dims());
  const Dims rows(out.dims().begin(), out.dims().end() - 1);
  Dims index(rows.size(), 0);
  int64_t to = 0;
  do {
    int64_t from = 0;
    for (size_t i = 0; i < index.size() && from >= 0; ++i) {
      const int64_t at = maps[i][static_cast<size_t>(index[i])];
      from = at < 0 ? -1 : from + at * strides[i];
    }
    if (from >= 0) copy_row(out, to, src, from, maps.back());
    to += out.dims().back();
  } while (next_index(index, rows));
}

Tensor zero_scalar(ir::DType dtype) { return Tensor::zeros(dtype, {}); }

}  // namespace tutti::ops
