#include "runtime/engine.h"

namespace tutti::runtime {
namespace {

std::vector<PortInfo> describe(const ir::Graph& graph, const std::vector<ir::Port>& ports) {
  std::vector<PortInfo> out;
  for (const ir::Port& port : ports) out.push_back({port.name, graph.value(port.value).type});
  return out;
}

// The measured choices of this device go before the plan's own.
engine::KernelChoices merged_choices(const engine::Plan& plan, const std::string& device) {
  engine::KernelChoices out = plan.kernels;
  if (const engine::TunedSection* tuned = device.empty() ? nullptr : plan.tuned_for(device))
    for (const auto& [node, kernel] : tuned->kernels) out[node] = kernel;
  return out;
}

}  // namespace

Engine::Engine(engine::PlanPtr plan, const EngineOptions& options)
    : plan_(std::move(plan)),
      inputs_(describe(plan_->graph, plan_->graph.inputs())),
      outputs_(describe(plan_->graph, plan_->graph.outputs())),
      choices_(merged_choices(*plan_, options.device)),
      budget_(options.memory_limit_bytes),
      threads_(options.threads),
      weights_(budget_) {
  const exec::Environment environment{options.backend, &weights_, &choices_};
  executor_ = std::make_unique<exec::GraphExecutor>(plan_->graph, environment,
                                                    exec::ExecutorOptions{options.programs_per_stage});
}

Result<std::shared_ptr<Engine>> Engine::load(const std::string& path, const EngineOptions& options) {
  return create(TUTTI_TRY(engine::load_engine(path, {.verify_weights = options.verify_weights})), options);
}

Result<std::shared_ptr<Engine>> Engine::create(engine::PlanPtr plan, const EngineOptions& options) {
  if (!plan) return make_error(Code::kUsage, "engine: found no plan");
  if (options.threads < 1) return make_error(Code::kUsage, "threads: found {}, expected 1 or more", options.threads);
  return std::shared_ptr<Engine>(new Engine(std::move(plan), options));
}

EngineStats Engine::stats() const { return {executor_->cache_stats(), weights_.size_bytes(), budget_.used_bytes()}; }

}  // namespace tutti::runtime
