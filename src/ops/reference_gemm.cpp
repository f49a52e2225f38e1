#include "ops/reference_gemm.h"

#include <algorithm>
#include <vector>

namespace tutti::ops {
namespace {

constexpr int64_t kTileRows = 6, kTileColumns = 16;
constexpr int64_t kDepthBlock = 256, kRowBlock = 96, kColumnBlock = 1024, kFewRows = 4;
using Tile = void (*)(int64_t depth, const float* a, const float* b, float* acc);
using AddRow = void (*)(int64_t columns, const float* row, float factor, float* acc);

#define TUTTI_TILE_NAME tile_portable
#define TUTTI_ROW_NAME add_row_portable
#define TUTTI_TILE_LANES 4
#define TUTTI_TILE_TARGET
#include "ops/reference_gemm_tile.inc"
#undef TUTTI_TILE_NAME
#undef TUTTI_ROW_NAME
#undef TUTTI_TILE_LANES
#undef TUTTI_TILE_TARGET

#if defined(__x86_64__)
#define TUTTI_TILE_NAME tile_avx2
#define TUTTI_ROW_NAME add_row_avx2
#define TUTTI_TILE_LANES 8
#define TUTTI_TILE_TARGET __attribute__((target("avx2")))
#include "ops/reference_gemm_tile.inc"
#undef TUTTI_TILE_NAME
#undef TUTTI_ROW_NAME
#undef TUTTI_TILE_LANES
#undef TUTTI_TILE_TARGET
#define TUTTI_TILE_NAME tile_avx512
#define TUTTI_ROW_NAME add_row_avx512
#define TUTTI_TILE_LANES 16
#define TUTTI_TILE_TARGET __attribute__((target("avx512f")))
#include "ops/reference_gemm_tile.inc"
#undef TUTTI_TILE_NAME
#undef TUTTI_ROW_NAME
#undef TUTTI_TILE_LANES
#undef TUTTI_TILE_TARGET
#endif

struct Loops {
  Tile tile;
  AddRow add_row;
};

Loops best_loops() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {tile_avx512, add_row_avx512};
  if (__builtin_cpu_supports("avx2")) return {tile_avx2, add_row_avx2};
#endif
  return {tile_portable, add_row_portable};
}

// Panels of kTileRows rows, depth-major within a panel; missing rows are zero.
void pack_a(GemmOperand a, int64_t rows, int64_t depth, float* out) {
  for (int64_t first = 0; first < rows; first += kTileRows)
    for (int64_t p = 0; p < depth; ++p)
      for (int64_t i = first; i < first + kTileRows; ++i)
        *out++ = i < rows ? a.data[i * a.row_stride + p * a.column_stride] : 0.0f;
}

// Panels of kTileColumns columns. Reads along memory: whole rows, or whole columns of a transposed operand.
void pack_b(GemmOperand b, int64_t depth, int64_t columns, float* out) {
  const int64_t whole = columns / kTileColumns * kTileColumns;
  if (columns % kTileColumns != 0) std::fill_n(out + whole * depth, kTileColumns * depth, 0.0f);
  if (b.column_stride == 1) {
    for (int64_t p = 0; p < depth; ++p) {
      const float* row = b.data + p * b.row_stride;
      float* to = out + p * kTileColumns;
      for (int64_t j = 0; j < whole; j += kTileColumns) std::copy_n(row + j, kTileColumns, to + j * depth);
      std::copy_n(row + whole, columns - whole, to + whole * depth);
    }
    return;
  }
  constexpr int64_t kLine = 16;  // floats: a cache line of each column in turn, so that their reads overlap
  for (int64_t first = 0; first < columns; first += kTileColumns, out += depth * kTileColumns)
    for (int64_t p0 = 0; p0 < depth; p0 += kLine)
      for (int64_t j = first; j < std::min(first + kTileColumns, columns); ++j) {
        const float* from = b.data + j * b.column_stride;
        for (int64_t p = p0; p < std::min(p0 + kLine, depth); ++p)
          out[p * kTileColumns + j - first] = from[p * b.row_stride];
      }
}

struct Block {
  int64_t rows, columns, depth;
  bool accumulate;
};

void multiply_block(Tile tile, const Block& block, const float* packed_a, const float* packed_b, float* c,
                    int64_t stride) {
  alignas(64) float acc[kTileRows * kTileColumns];
  for (int64_t j = 0; j < block.columns; j += kTileColumns)
    for (int64_t i = 0; i < block.rows; i += kTileRows) {
      tile(block.depth, packed_a + i * block.depth, packed_b + j * block.depth, acc);
      const int64_t width = std::min(kTileColumns, block.columns - j);
      for (int64_t r = 0; r < std::min(kTileRows, block.rows - i); ++r) {
        float* row = c + (i + r) * stride + j;
        const float* from = acc + r * kTileColumns;
        for (int64_t q = 0; q < width; ++q) row[q] = block.accumulate ? row[q] + from[q] : from[q];
      }
    }
}

int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

// Few rows times a matrix whose rows lie in memory as they are: reading it is all the work, so it is not packed. Adds
// in the order of the blocked product: equal bits.
void multiply_few_rows(AddRow add_row, GemmSize size, GemmOperand a, GemmOperand b, GemmTarget c) {
  alignas(64) float acc[kFewRows][kColumnBlock];
  for (int64_t p0 = 0; p0 < size.k; p0 += kDepthBlock)
    for (int64_t j0 = 0; j0 < size.n; j0 += kColumnBlock) {
      const int64_t depth_end = std::min(p0 + kDepthBlock, size.k), columns = std::min(kColumnBlock, size.n - j0);
      const int64_t whole = columns / kTileColumns * kTileColumns;
      for (int64_t i = 0; i < size.m; ++i) std::fill_n(acc[i], columns, 0.0f);
      for (int64_t p = p0; p < depth_end; ++p) {
        const float* row = b.data + p * b.row_stride + j0;
        for (int64_t i = 0; i < size.m; ++i) {
          const float factor = a.data[i * a.row_stride + p * a.column_stride];
          add_row(whole, row, factor, acc[i]);
          for (int64_t j = whole; j < columns; ++j) acc[i][j] += row[j] * factor;
        }
      }
      for (int64_t i = 0; i < size.m; ++i) {
        float* out = c.data + i * c.row_stride + j0;
        for (int64_t j = 0; j < columns; ++j) out[j] = c.accumulate || p0 > 0 ? out[j] + acc[i][j] : acc[i][j];
      }
    }
}

}  // namespace

void reference_gemm(GemmSize size, GemmOperand a, GemmOperand b, GemmTarget c) {
  const Loops loops = best_loops();
  if (size.k == 0 && !c.accumulate)
    for (int64_t i = 0; i < size.m; ++i) std::fill_n(c.data + i * c.row_stride, size.n, 0.0f);
  if (size.m <= kFewRows && b.column_stride == 1) return multiply_few_rows(loops.add_row, size, a, b, c);
  const int64_t depth_block = std::min(kDepthBlock, size.k);
  std::vector<float> packed_a(static_cast<size_t>(round_up(std::min(kRowBlock, size.m), kTileRows) * depth_block));
  std::vector<float> packed_b(
      static_cast<size_t>(round_up(std::min(kColumnBlock, size.n), kTileColumns) * depth_block));
  for (int64_t p = 0; p < size.k; p += kDepthBlock) {
    const int64_t depth = std::min(kDepthBlock, size.k - p);
    for (int64_t j = 0; j < size.n; j += kColumnBlock) {
      const int64_t columns = std::min(kColumnBlock, size.n - j);
      pack_b({b.data + p * b.row_stride + j * b.column_stride, b.row_stride, b.column_stride}, depth, columns,
             packed_b.data());
      for (int64_t i = 0; i < size.m; i += kRowBlock) {
        const int64_t rows = std::min(kRowBlock, size.m - i);
        pack_a({a.data + i * a.row_stride + p * a.column_stride, a.row_stride, a.column_stride}, rows, depth,
               packed_a.data());
        const Block block{rows, columns, depth, c.accumulate || p > 0};
        multiply_block(loops.tile, block, packed_a.data(), packed_b.data(), c.data + i * c.row_stride + j,
                       c.row_stride);
      }
    }
  }
}

}  // namespace tutti::ops
