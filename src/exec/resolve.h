// Makes the shapes of one stage concrete and splits the nodes: numbers, steps, host nodes, and those left for later
// stages.
#pragma once

#include <span>
#include <vector>

#include "exec/program.h"
#include "ir/graph.h"

namespace tutti::exec {

struct Resolved {
  ir::Graph graph;  // a clone: types are concrete and folded values are constants, as far as the stage reaches
  std::vector<bool> available;     // by value: known before or made in this stage
  std::vector<ir::NodeId> steps;   // in order
  std::vector<ir::NodeId> folded;  // shape arithmetic, evaluated
  std::vector<ir::NodeId> host;    // inputs are ready, output shapes depend on the data
  std::vector<ir::NodeId> remaining;
  std::vector<ir::ValueId> requested;  // small values on which the shapes of `remaining` nodes depend
};

// Clones `graph`; `nodes` are those not yet run, in order; `known` are all values that they may read, constants aside.
// Errors name the node.
Result<Resolved> resolve_stage(const ir::Graph& graph, std::span<const ir::NodeId> nodes,
                               std::span<const KnownValue> known);

// The value lives in planned memory: a dense tensor with known dims, not strings.
bool is_dense(const ir::ValueType& type);

}  // namespace tutti::exec
