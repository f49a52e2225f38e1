// Engine: a loaded plan, ready to run from many contexts at once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "engine/format.h"
#include "exec/executor.h"
#include "runtime/packed_weights.h"

namespace tutti::runtime {

struct EngineOptions {
  int threads = 1;                            // of the engine's pool, the calling thread included
  size_t memory_limit_bytes = SIZE_MAX;       // packed weights, arenas and results of all contexts together
  const backend::Backend* backend = nullptr;  // outlives the engine; null: reference kernels only
  std::string device;                         // whose tuned section to use; "" : none
  size_t programs_per_stage = 32;             // shapes kept
  bool verify_weights = false;                // load only: hash all weights
};

// An input or output.
struct PortInfo {
  std::string name;
  ir::ValueType type;
};

struct EngineStats {
  exec::CacheStats cache;
  size_t packed_bytes = 0;       // packed weights
  size_t memory_used_bytes = 0;  // of the limit: packed weights and arenas
};

// Shared, immutable but for its caches: thread-safe. Contexts keep it alive.
class Engine {
 public:
  // Fails as load_engine does, and with kLimit.
  static Result<std::shared_ptr<Engine>> load(const std::string& path, const EngineOptions& options = {});
  static Result<std::shared_ptr<Engine>> create(engine::PlanPtr plan, const EngineOptions& options = {});
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const engine::Plan& plan() const { return *plan_; }
  const std::vector<PortInfo>& inputs() const { return inputs_; }
  const std::vector<PortInfo>& outputs() const { return outputs_; }
  EngineStats stats() const;
  // What runs at the shapes seen so far: steps, fallbacks, memory.
  std::vector<exec::ProgramOf> programs() const { return executor_->programs(); }

  // For contexts.
  exec::GraphExecutor& executor() { return *executor_; }
  ThreadPool& threads() { return threads_; }
  exec::MemoryBudget& budget() { return budget_; }

 private:
  Engine(engine::PlanPtr plan, const EngineOptions& options);

  const engine::PlanPtr plan_;
  std::vector<PortInfo> inputs_, outputs_;
  engine::KernelChoices choices_;
  exec::MemoryBudget budget_;
  ThreadPool threads_;
  PackedWeightStore weights_;
  std::unique_ptr<exec::GraphExecutor> executor_;
};

using EnginePtr = std::shared_ptr<Engine>;

}  // namespace tutti::runtime
