// Matrix product of 16-bit integers into 32-bit sums that wrap, for one thread: 8-bit operands with their zero points
// taken off. Products of neighbouring depths are added in pairs (two of 255 * 255 fit in 32 bits): no step saturates.
#pragma once

#include <cstdint>

namespace tutti::cpu::simd {

// Columns of one packed panel.
int64_t int_panel_width();
// The depth as stored: whole pairs, the last one with a zero.
inline int64_t even_depth(int64_t depth) { return (depth + 1) / 2 * 2; }
// int16 elements of a packed matrix.
inline int64_t packed_ints(int64_t depth, int64_t columns) {
  const int64_t width = int_panel_width();
  return (columns + width - 1) / width * width * even_depth(depth);
}

// The right side in memory: element (k, j) at data[k * row_stride + j * column_stride], of int8 or uint8; minus
// zeros[j * zero_step].
struct ByteMatrix {
  const void* data = nullptr;
  bool is_signed = false;
  int64_t row_stride = 0, column_stride = 0;
  const int32_t* zeros = nullptr;
  int64_t zero_step = 0;
};
// Packs panels [panel_begin, panel_end); missing columns become zeros.
struct IntPanels {
  int64_t begin = 0, end = 0;
};
void pack_ints(const ByteMatrix& b, int64_t depth, int64_t columns, IntPanels panels, int16_t* packed);

// rows x columns [column_begin, column_end) of the product; column_begin is a multiple of the panel width.
struct IntBlock {
  const int16_t* a = nullptr;  // row r at a + r * even_depth(depth), a zero behind an odd depth
  int64_t rows = 0, depth = 0;
  const int16_t* packed_b = nullptr;
  int64_t column_begin = 0, column_end = 0;
  int32_t* c = nullptr;  // row r, column j at c[r * c_stride + j]
  int64_t c_stride = 0;
};
void gemm_ints(const IntBlock& block);

}  // namespace tutti::cpu::simd
