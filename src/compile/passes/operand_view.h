// Operands that a fused kernel can read in place: views, slices and permutations above a tensor, folded into one shape,
// one slice and one permutation.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace tutti::compile {

// Reshape `source` to `target` (nothing: as it is), take `select` (axis, index; empty: all), permute by `perm` (empty:
// not at all), multiply by `scale`. Axes that only repeat others are left out: the reader broadcasts or groups.
struct InPlaceOperand {
  ir::ValueId source = ir::kNoValue;
  std::optional<std::vector<int64_t>> target;
  std::vector<int64_t> select, perm;
  double scale = 1;
};

struct OperandRequest {
  ir::ValueId value = ir::kNoValue;
  bool swap_last = false;          // the reader wants the last two axes exchanged
  bool take_scale = false;         // factors may be taken out
  std::optional<ir::Shape> shape;  // what the reader wants, after the exchange: the same elements under another shape
};

// The operand from as far up as can be proven. Always something for a tensor of known rank, unless `shape` asks for
// what cannot be proven.
std::optional<InPlaceOperand> trace_operand(const ir::Graph& graph, const OperandRequest& request);

// The constant that makes Reshape turn `from` into `to`; nothing when more than one dimension is not known, or one that
// another may leave open by being 0.
std::optional<std::vector<int64_t>> reshape_target(const ir::Graph& graph, const ir::Shape& from, const ir::Shape& to);

}  // namespace tutti::compile
