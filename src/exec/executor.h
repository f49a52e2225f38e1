// Runs a graph stage by stage: at the first run of a shape a stage is specialised, later runs find its program in the
// cache.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "exec/program_cache.h"
#include "exec/run_state.h"
#include "exec/specialise.h"

namespace tutti::exec {

struct ExecutorOptions {
  size_t programs_per_stage = 32;
};

// A program and the graph that its node ids belong to: the plan's, or a body.
struct ProgramOf {
  const ir::Graph* graph;
  ProgramPtr program;
};

// One graph and, below it, one executor per body. Thread-safe: every run has its own RunState.
class GraphExecutor {
 public:
  // `graph` and what `environment` points to outlive the executor.
  GraphExecutor(const ir::Graph& graph, const Environment& environment, const ExecutorOptions& options);
  ~GraphExecutor();
  GraphExecutor(const GraphExecutor&) = delete;
  GraphExecutor& operator=(const GraphExecutor&) = delete;

  // One datum per graph input; one per graph output comes back. An input is read in place and must not change
  // meanwhile. An output is written straight into `bound[i]` where that is given (defined) with the right type and
  // dims. Inputs' number and kinds must fit the graph (runtime checks them with better words); dims may be any that the
  // graph accepts.
  Result<std::vector<ir::Datum>> run(RunState& state, std::span<const ir::Datum> inputs,
                                     std::span<const ir::Tensor> bound = {});

  // The first stage's program for these inputs; made when the cache does not hold it.
  Result<ProgramPtr> first_program(std::span<const ir::Datum> inputs);

  const ir::Graph& graph() const { return graph_; }
  // Bodies included.
  CacheStats cache_stats() const;
  // Every program held at the moment, bodies included.
  std::vector<ProgramOf> programs() const;

 private:
  friend class StageRunner;
  Result<ProgramPtr> program_of(int32_t stage, const ShapeKey& key, const std::function<Result<ProgramPtr>()>& make,
                                Frame& frame);
  Result<ProgramPtr> first_stage(std::span<const ir::Datum> inputs, Frame& frame);
  Result<ProgramPtr> next_stage(const Program& program, Frame& frame);
  ProgramCache& cache(int32_t stage) const;
  GraphExecutor& body(ir::NodeId node, int index) const;

  const ir::Graph& graph_;
  const Environment environment_;
  const ExecutorOptions options_;
  std::vector<ir::NodeId> order_;
  std::map<ir::NodeId, std::vector<std::unique_ptr<GraphExecutor>>> bodies_;
  mutable Mutex mutex_;
  mutable std::vector<std::unique_ptr<ProgramCache>> caches_ TUTTI_GUARDED_BY(mutex_);  // by stage
};

}  // namespace tutti::exec
