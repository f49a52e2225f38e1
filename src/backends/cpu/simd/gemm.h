// Single-precision matrix product on packed weights, for one thread: the core of matrix products and of convolutions in
// channels-last layout. Every output element is summed over K in one fixed order, so that how work is cut into blocks
// never changes a bit.
#pragma once

#include <cstdint>

#include "ops/fused.h"

namespace tutti::cpu::simd {

// What follows the sum: y = act(scale * sum + bias [+ residual]) [+ residual].
struct Epilogue {
  const float* bias = nullptr;      // per column, or null
  const float* residual = nullptr;  // one row per output row, or null
  int64_t residual_stride = 0;      // elements between its rows (0: the same row for all)
  bool residual_first = false;
  float scale = 1;
  ops::Activation activation = ops::Activation::kNone;
  float alpha = 0, beta = 0;
};

// A block of the product. Row r of the left side is `taps` pieces of `channels` floats: piece t starts at a[t * rows +
// r]. A convolution has one tap per kernel position; a plain matrix has one, and instead of a table its first row and
// the distance between rows.
struct GemmBlock {
  const float* const* a = nullptr;  // null: row r starts at a_base + r * a_stride, and taps is 1
  const float* a_base = nullptr;
  int64_t a_stride = 0;
  int64_t rows = 0, taps = 1, channels = 0;
  const float* packed_b = nullptr;           // by pack_b, all columns
  int64_t column_begin = 0, column_end = 0;  // column_begin is a multiple of the panel width
  float* c = nullptr;                        // row r, column j at c[r * c_stride + j]
  int64_t c_stride = 0;
  Epilogue epilogue;  // its pointers are at row 0, column 0 of the block's matrix
};

// Columns of one packed panel, and rows computed at a time; of the instruction set chosen at run time.
int64_t panel_width();
int64_t tile_rows();

inline int64_t packed_floats(int64_t depth, int64_t columns) {
  const int64_t width = panel_width();
  return (columns + width - 1) / width * width * depth;
}

// The right side in memory: element (k, j) at data[k * row_stride + j * column_stride].
struct MatrixView {
  const float* data = nullptr;
  int64_t row_stride = 0, column_stride = 0;
};

// Packs panels [panel_begin, panel_end) of a depth x columns matrix; missing columns of the last panel become zeros.
struct PanelRange {
  int64_t begin = 0, end = 0;
};
void pack_b(const MatrixView& b, int64_t depth, int64_t columns, PanelRange panels, float* packed);

void gemm(const GemmBlock& block);

}  // namespace tutti::cpu::simd
