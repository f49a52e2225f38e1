// From a graph to a Program: shapes, kernels, buffers, memory.
#pragma once

#include <span>

#include "backend/backend.h"
#include "engine/plan.h"
#include "exec/program.h"

namespace tutti::exec {

// What programs are made with. Everything outlives the programs; thread-safe.
struct Environment {
  const backend::Backend* backend = nullptr;       // null: reference kernels only
  backend::PackedWeights* weights = nullptr;       // needed with a backend
  const engine::KernelChoices* choices = nullptr;  // may be null
};

struct StageRequest {
  const ir::Graph& graph;
  std::span<const ir::NodeId> nodes;  // not yet run, in order
  std::span<const KnownValue> known;  // all values they may read, constants aside
  int32_t stage = 0;
};

// Costs milliseconds: the graph is cloned, typed, and every node's kernel is selected and prepared. Errors name the
// node.
Result<ProgramPtr> specialise(const StageRequest& request, const Environment& environment);

}  // namespace tutti::exec
