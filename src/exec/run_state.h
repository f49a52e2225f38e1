// What one context carries from run to run: memory, the environment of values, what to report.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/thread_pool.h"
#include "exec/arena.h"
#include "exec/program.h"
#include "exec/program_cache.h"

namespace tutti::exec {

// One step that has just run. Data are views that hold until the callback returns; empty() where absent.
struct StepEvent {
  const ir::Graph& graph;  // the plan's, or a body
  ir::NodeId node;
  int depth;                // 0: the plan's own graph
  std::string_view kernel;  // "reference", "host", or the kernel's name
  std::span<const ir::Datum> inputs, outputs;
};
// An error ends the run with it.
using StepObserver = std::function<Status(const StepEvent&)>;

// Time of one step, bodies included.
struct StepTime {
  std::string node, op, kernel;
  int depth = 0;
  int64_t time_ns = 0;
};

// Working memory of one graph while it runs.
struct Frame {
  explicit Frame(MemoryBudget& budget) : arena(budget) {}

  // The program of a stage's last run, so that equal shapes need no lock.
  struct Recent {
    const void* executor = nullptr;
    ShapeKey key;
    ProgramPtr program;
  };

  Arena arena;
  std::vector<ir::Datum> environment;  // by value id
  std::vector<ir::ValueId> filled;     // which of them hold something
  std::vector<const void*> pointers;   // by buffer of the current program
  std::vector<ir::Tensor> owned;       // by buffer of the current program
  std::vector<Recent> recent;          // by stage
  ShapeKey key;
};

// One thread at a time. `pool` and `budget` outlive it.
struct RunState {
  RunState(ThreadPool& pool, MemoryBudget& memory) : threads(pool), budget(memory) {}

  ThreadPool& threads;
  MemoryBudget& budget;
  uint64_t seed = 0;
  StepObserver observer;                       // slows the run down: inputs that a step overwrites are copied first
  const Clock* clock = nullptr;                // profiles when set
  std::vector<StepTime> profile;               // of the last run
  std::vector<std::unique_ptr<Frame>> frames;  // by depth
  int depth = 0;
};

}  // namespace tutti::exec
