// The oracle: runs any graph node by node with the reference kernels. Single-threaded, deterministic for a given seed.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "ir/tensor.h"

namespace tutti::ops {

struct InterpretOptions {
  uint64_t seed = 0;  // for random operators
  // Called after each node of the outermost graph with its inputs and outputs (empty() where absent).
  std::function<void(ir::NodeId, std::span<const ir::Datum> inputs, std::span<const ir::Datum> outputs)> on_node;
};

// One Datum per graph input, in order; returns one per graph output. Intermediate values are freed after their last
// use.
Result<std::vector<ir::Datum>> interpret(const ir::Graph& graph, std::span<const ir::Datum> inputs,
                                         const InterpretOptions& options = {});

// The seed of stream `index` under `seed`: of a graph's node by its id, of a body's k-th run (from 1) under its node's
// seed. Whoever runs a graph in another order still draws the same numbers.
uint64_t stream_seed(uint64_t seed, uint64_t index);

// Evaluates one operator; a fused op through its expansion.
struct EvalRequest {
  const ir::OpDef& op;
  const ir::Attrs& attrs;
  std::span<const ir::Datum> inputs;
  int output_count = 1;
  std::span<const std::unique_ptr<ir::Graph>> bodies = {};
  uint64_t seed = 0;
  std::span<const bool> wanted = {};
};
Result<std::vector<ir::Datum>> evaluate(const EvalRequest& request);

// The declared types of a graph's outputs, for BodyRunner implementations.
std::vector<ir::ValueType> output_types(const ir::Graph& graph);

}  // namespace tutti::ops
