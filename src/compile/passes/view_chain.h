// A run of views (Reshape, Transpose, Squeeze, Unsqueeze, Flatten) as one change of axes: the source's axes are cut
// into pieces, and each axis of the result is a list of pieces. Any such run is one Reshape, one Transpose and one
// Reshape.
#pragma once

#include <optional>
#include <vector>

#include "compile/passes/match.h"

namespace tutti::compile {

bool is_view(const ir::Node& node);

struct ViewChain {
  ir::ValueId source = ir::kNoValue;
  ir::Shape source_shape;
  std::vector<ir::Dim> pieces;         // in the source's order; none is 1
  std::vector<std::vector<int>> axes;  // of the result: its pieces, outermost first; an axis of 1 has none
  // Of the nodes that nobody else reads, and would go if the run were replaced.
  int transposes = 0, nodes = 0;

  ir::Shape shape() const;  // of the result
  // Index of the first piece of the source's last axis.
  int last_axis_begin() const;
};

// The chain of nothing.
std::optional<ViewChain> identity_chain(const ir::Graph& graph, ir::ValueId source);
// The result's axes become those of `to`; false when a piece does not divide, or a dim is not known well enough.
bool reshape_chain(ViewChain& chain, const ir::Shape& to);
void transpose_chain(ViewChain& chain, const std::vector<int64_t>& perm);

// The longest run of views that ends with `last` and can be written as one chain; nothing if `last` alone cannot.
std::optional<ViewChain> view_chain(const ir::Graph& graph, ir::NodeId last);

// How many nodes `emit_chain` makes.
struct ChainCost {
  int transposes = 0, nodes = 0;
};
std::optional<ChainCost> chain_cost(const ir::Graph& graph, const ViewChain& chain);
// The result, computed from `source`, a value of the source's shape. Nothing when a target cannot be written as
// numbers.
std::optional<ir::ValueId> emit_chain(ir::Patch& patch, const ir::Graph& graph, const ViewChain& chain,
                                      ir::ValueId source);

}  // namespace tutti::compile
