#include "ops/reference_gemm.h"

#include <algorithm>
#include <vector>

namespace tutti::ops {
namespace {

constexpr int64_t kTileRows = 6, kTileColumns = 16;
constexpr int64_t kDepthBlock = 256, kRowBlock = 96, kColumnBlock = 1024;
using Tile = void (*)(int64_t depth, const float* a, const float* b, float* acc);

#define TUTTI_TILE_NAME tile_portable
#define TUTTI_TILE_LANES 4
#define TUTTI_TILE_TARGET
#include "ops/reference_gemm_tile.inc"
#undef TUTTI_TILE_NAME
#undef TUTTI_TILE_LANES
#undef TUTTI_TILE_TARGET

#if defined(__x86_64__)
#define TUTTI_TILE_NAME tile_avx2
#define TUTTI_TILE_LANES 8
#define TUTTI_TILE_TARGET __attribute__((target("avx2")))
#include "ops/reference_gemm_tile.inc"
#undef TUTTI_TILE_NAME
#undef TUTTI_TILE_LANES
#undef TUTTI_TILE_TARGET
#define TUTTI_TILE_NAME tile_avx512
#define TUTTI_TILE_LANES 16
#define TUTTI_TILE_TARGET __attribute__((target("avx512f")))
#include "ops/reference_gemm_tile.inc"
#undef TUTTI_TILE_NAME
#undef TUTTI_TILE_LANES
#undef TUTTI_TILE_TARGET
#endif

Tile best_tile() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return tile_avx512;
  if (__builtin_cpu_supports("avx2")) return tile_avx2;
#endif
  return tile_portable;
}

// Panels of kTileRows rows, depth-major within a panel; missing rows are zero.
void pack_a(GemmOperand a, int64_t rows, int64_t depth, float* out) {
  for (int64_t first = 0; first < rows; first += kTileRows)
    for (int64_t p = 0; p < depth; ++p)
      for (int64_t i = first; i < first + kTileRows; ++i)
        *out++ = i < rows ? a.data[i * a.row_stride + p * a.column_stride] : 0.0f;
}

void pack_b(GemmOperand b, int64_t depth, int64_t columns, float* out) {
  for (int64_t first = 0; first < columns; first += kTileColumns) {
    const int64_t width = std::min(kTileColumns, columns - first);
    for (int64_t p = 0; p < depth; ++p, out += kTileColumns) {
      const float* row = b.data + p * b.row_stride + first * b.column_stride;
      for (int64_t j = 0; j < width; ++j) out[j] = row[j * b.column_stride];
      for (int64_t j = width; j < kTileColumns; ++j) out[j] = 0.0f;
    }
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

}  // namespace

void reference_gemm(GemmSize size, GemmOperand a, GemmOperand b, GemmTarget c) {
  const Tile tile = best_tile();
  if (size.k == 0 && !c.accumulate)
    for (int64_t i = 0; i < size.m; ++i) std::fill_n(c.data + i * c.row_stride, size.n, 0.0f);
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
        multiply_block(tile, block, packed_a.data(), packed_b.data(), c.data + i * c.row_stride + j, c.row_stride);
      }
    }
  }
}

}  // namespace tutti::ops
