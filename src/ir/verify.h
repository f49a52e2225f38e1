// Structural checks of a graph: every pass is followed by one.
#pragma once

#include "ir/graph.h"

namespace tutti::ir {

// Single assignment, topological order, use lists true in both directions, live ids only, outputs defined, types
// present, arity within the op's bounds, bodies closed and valid. An error names the node or value and is always a bug
// of whoever changed the graph last.
Status verify_graph(const Graph& graph);

}  // namespace tutti::ir
