#include "backends/cpu/kernels/transpose_core.h"

namespace tutti::cpu {
namespace {

constexpr int64_t kTile = 16;

template <class T>
void transpose_tile(const T* src, int64_t src_stride, T* dst, int64_t dst_stride) {
  for (int64_t c = 0; c < kTile; ++c)
    for (int64_t r = 0; r < kTile; ++r) dst[c * dst_stride + r] = src[r * src_stride + c];
}

// Pictures have three or four rows (channels): whole columns one after the other, written without gaps.
template <int kRows, class T>
void transpose_few(const T* src, int64_t src_stride, T* dst, int64_t columns) {
  for (int64_t c = 0; c < columns; ++c)
    for (int r = 0; r < kRows; ++r) dst[c * kRows + r] = src[r * src_stride + c];
}

// A part of one matrix; in square tiles.
struct Part {
  int64_t row, rows, column, columns;
};

template <class T>
void transpose_part(const T* src, T* dst, const MatrixBatch& m, const Part& part) {
  if (m.rows == 3) return transpose_few<3>(src + part.column, m.columns, dst + part.column * 3, part.columns);
  if (m.rows == 4) return transpose_few<4>(src + part.column, m.columns, dst + part.column * 4, part.columns);
  for (int64_t c = part.column; c < part.column + part.columns; c += kTile) {
    const int64_t columns = std::min(kTile, part.column + part.columns - c);
    const T* from = src + part.row * m.columns + c;
    T* to = dst + c * m.rows + part.row;
    if (part.rows == kTile && columns == kTile) {
      transpose_tile(from, m.columns, to, m.rows);
      continue;
    }
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t i = 0; i < part.rows; ++i) to[j * m.rows + i] = from[i * m.columns + j];
  }
}

template <class T>
void transpose_typed(ThreadPool& threads, const MatrixBatch& m, const void* src, void* dst) {
  constexpr int64_t kColumns = 1024;
  const int64_t strips = (m.rows + kTile - 1) / kTile, blocks = (m.columns + kColumns - 1) / kColumns;
  const double cost = 0.6 * static_cast<double>(std::min(kTile, m.rows) * std::min(kColumns, m.columns)) + 10;
  split(threads, m.batch * strips * blocks, cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t offset = i / (strips * blocks) * m.rows * m.columns, row = i / blocks % strips * kTile,
                    column = i % blocks * kColumns;
      const Part part{row, std::min(kTile, m.rows - row), column, std::min(kColumns, m.columns - column)};
      transpose_part(static_cast<const T*>(src) + offset, static_cast<T*>(dst) + offset, m, part);
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
