#include "backends/cpu/kernels/transpose_core.h"

namespace tutti::cpu {
namespace {

constexpr int64_t kTile = 16;

template <class T>
void transpose_tile(const T* src, int64_t src_stride, T* dst, int64_t dst_stride) {
  for (int64_t c = 0; c < kTile; ++c)
    for (int64_t r = 0; r < kTile; ++r) dst[c * dst_stride + r] = src[r * src_stride + c];
}

// Rows [row_begin, row_end) of one matrix, in square tiles.
template <class T>
void transpose_rows(const T* src, T* dst, const MatrixBatch& m, int64_t row_begin, int64_t row_end) {
  for (int64_t r = row_begin; r < row_end; r += kTile) {
    const int64_t rows = std::min(kTile, row_end - r);
    for (int64_t c = 0; c < m.columns; c += kTile) {
      const int64_t columns = std::min(kTile, m.columns - c);
      const T* from = src + r * m.columns + c;
      T* to = dst + c * m.rows + r;
      if (rows == kTile && columns == kTile) {
        transpose_tile(from, m.columns, to, m.rows);
        continue;
      }
      for (int64_t j = 0; j < columns; ++j)
        for (int64_t i = 0; i < rows; ++i) to[j * m.rows + i] = from[i * m.columns + j];
    }
  }
}

template <class T>
void transpose_typed(ThreadPool& threads, const MatrixBatch& m, const void* src, void* dst) {
  const int64_t strips = (m.rows + kTile - 1) / kTile;
  const double cost = 0.6 * static_cast<double>(kTile * m.columns);
  split(threads, m.batch * strips, cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t offset = i / strips * m.rows * m.columns, row = i % strips * kTile;
      transpose_rows(static_cast<const T*>(src) + offset, static_cast<T*>(dst) + offset, m, row,
                     std::min(m.rows, row + kTile));
    }
  });
}

}  // namespace

void transpose_matrices(ThreadPool& threads, const MatrixBatch& shape, size_t bytes, const void* src, void* dst) {
  switch (bytes) {
    case 1: return transpose_typed<uint8_t>(threads, shape, src, dst);
    case 2: return transpose_typed<uint16_t>(threads, shape, src, dst);
    case 4: return transpose_typed<uint32_t>(threads, shape, src, dst);
    default: return transpose_typed<uint64_t>(threads, shape, src, dst);
  }
}

}  // namespace tutti::cpu
