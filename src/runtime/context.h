// ExecutionContext: one caller's runs of an engine.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/engine.h"

namespace tutti::runtime {

struct RunOptions {
  uint64_t seed = 0;  // for random operators
  std::span<const ir::Tensor> outputs =
      {};  // where to write, by output; undefined ones are allocated. A type or shape that does not fit is an error
};

struct ContextStats {
  size_t arena_bytes = 0;
  EngineStats engine;
};

// Owns the memory of intermediate results and reuses it from run to run. One thread at a time; make one context per
// thread.
class ExecutionContext {
 public:
  explicit ExecutionContext(EnginePtr engine);

  // Inputs in the engine's order, read in place. Outputs in the engine's order; each has its own memory (or shares an
  // input's or a constant's, where the graph passes one through). Errors name the input or the node.
  Result<std::vector<ir::Datum>> run(std::span<const ir::Datum> inputs, const RunOptions& options = {});
  // By name.
  Result<std::map<std::string, ir::Datum>> run(const std::map<std::string, ir::Datum>& inputs,
                                               const RunOptions& options = {});

  // Times each step of the runs that follow.
  void enable_profiling(bool enabled = true);
  // Of the last run: steps in the order they ran, bodies' steps before the node that ran them.
  const std::vector<exec::StepTime>& profile() const { return state_.profile; }
  // Sees every step of the runs that follow, with its inputs and outputs; an empty one ends that.
  void observe(exec::StepObserver observer) { state_.observer = std::move(observer); }

  // Nodes without a kernel, at the shapes seen so far by any context of the engine.
  std::vector<exec::Fallback> fallbacks() const;
  ContextStats stats() const;
  Engine& engine() const { return *engine_; }

 private:
  EnginePtr engine_;
  SystemClock clock_;
  exec::RunState state_;
};

}  // namespace tutti::runtime
