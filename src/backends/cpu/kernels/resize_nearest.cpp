#include "backends/cpu/kernels/resize_nearest.h"

#include <cstring>

#include "ops/resize_plan.h"

namespace tutti::cpu {
namespace {

// Output rows run along the last axis that changes; the axes behind it make one block of bytes.
struct Nearest {
  std::vector<std::vector<int64_t>> outer;  // source index by output index, per axis before the row's
  std::vector<int64_t> in;                  // source extents of the same axes, then of the row's axis
  std::vector<int32_t> row;                 // source index by output index along the row
  size_t block = 1;

  int64_t rows() const {
    int64_t n = 1;
    for (const auto& axis : outer) n *= static_cast<int64_t>(axis.size());
    return n;
  }
  // The source row of output row `r`.
  int64_t source_row(int64_t r) const {
    int64_t at = 0, scale = 1;
    for (size_t axis = outer.size(); axis-- > 0;) {
      const auto extent = static_cast<int64_t>(outer[axis].size());
      at += outer[axis][static_cast<size_t>(r % extent)] * scale;
      r /= extent;
      scale *= in[axis];
    }
    return at;
  }
};

template <class T>
void pick(const std::vector<int32_t>& row, const char* src, char* dst) {
  const T* from = reinterpret_cast<const T*>(src);
  T* to = reinterpret_cast<T*>(dst);
  for (size_t i = 0; i < row.size(); ++i) to[i] = from[row[i]];
}

void pick_row(const Nearest& n, const char* src, char* dst) {
  switch (n.block) {
    case 1: return pick<uint8_t>(n.row, src, dst);
    case 2: return pick<uint16_t>(n.row, src, dst);
    case 4: return pick<uint32_t>(n.row, src, dst);
    case 8: return pick<uint64_t>(n.row, src, dst);
    default:
      for (size_t i = 0; i < n.row.size(); ++i)
        std::memcpy(dst + i * n.block, src + static_cast<size_t>(n.row[i]) * n.block, n.block);
  }
}

void run(const Nearest& n, const RunContext& c) {
  const char* src = static_cast<const char*>(c.inputs[0]);
  char* dst = static_cast<char*>(c.outputs[0]);
  const size_t row_bytes = n.row.size() * n.block;
  const auto in_bytes = static_cast<size_t>(n.in.back()) * n.block;
  split(c.threads, n.rows(), 0.1 * static_cast<double>(row_bytes) + 10, [&](int64_t begin, int64_t end) {
    int64_t previous = -1;
    for (int64_t r = begin; r < end; ++r) {
      const int64_t from = n.source_row(r);
      char* to = dst + static_cast<size_t>(r) * row_bytes;
      if (from == previous)
        std::memcpy(to, to - row_bytes, row_bytes);
      else
        pick_row(n, src + static_cast<size_t>(from) * in_bytes, to);
      previous = from;
    }
  });
}

}  // namespace

Result<std::unique_ptr<Kernel>> make_nearest(const ops::ResizeAttrs& attrs, const std::vector<ops::ResizeAxis>& plan,
                                             size_t bytes) {
  Nearest n;
  n.block = bytes;
  size_t last = plan.size();
  while (last > 1 && ops::is_identity(attrs, plan[last - 1])) n.block *= static_cast<size_t>(plan[--last].in);
  for (size_t axis = 0; axis < last; ++axis) {
    std::vector<int64_t> positions;
    for (int64_t o = 0; o < plan[axis].out; ++o)
      positions.push_back(ops::is_identity(attrs, plan[axis]) ? o : ops::nearest_position(attrs, plan[axis], o));
    n.in.push_back(plan[axis].in);
    if (axis + 1 == last)
      n.row.assign(positions.begin(), positions.end());
    else
      n.outer.push_back(std::move(positions));
  }
  return make_kernel([n = std::move(n)](const RunContext& c) {
    run(n, c);
    return ok_status();
  });
}

}  // namespace tutti::cpu
