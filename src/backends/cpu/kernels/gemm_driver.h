// Cuts a matrix product into tasks for the thread pool, as a function of its size alone.
#pragma once

#include "backends/cpu/kernels/common.h"
#include "backends/cpu/simd/gemm.h"

namespace tutti::cpu {

// Tasks of a product of `rows` x `depth` x `columns`: row blocks by groups of panels.
struct GemmGrid {
  int64_t rows = 0, columns = 0;
  int64_t row_block = 1, column_block = 1;  // column_block is a multiple of the panel width
  double task_nanoseconds = 0;              // what a task costs, about

  int64_t row_tasks() const { return (rows + row_block - 1) / row_block; }
  int64_t column_tasks() const { return (columns + column_block - 1) / column_block; }
  int64_t tasks() const { return row_tasks() * column_tasks(); }
  struct Block {
    int64_t row_begin, row_end, column_begin, column_end;
  };
  Block block(int64_t task) const;
};

// `max_rows` bounds the rows of a block (0: no bound).
GemmGrid make_gemm_grid(int64_t rows, int64_t depth, int64_t columns, int64_t max_rows = 0);

// The constant weight packed once per engine. `columns_of` views element (k, j); groups are packed one after the other.
struct PackRequest {
  const ir::Tensor& source;
  std::string form;  // without what depends on the instruction set
  int64_t depth = 0, columns = 0, groups = 1;
  // Fills depth x columns (row-major) of one group, or gives a view of it without copying.
  std::function<simd::MatrixView(int64_t group)> view;
};
Result<std::shared_ptr<const ir::Tensor>> pack_constant(backend::PackedWeights& weights, const PackRequest& request);

}  // namespace tutti::cpu
