#include "capi/compile/build_engine.h"

#include <filesystem>
#include <optional>

#include "builtin/backends.h"
#include "runtime/engine.h"

namespace tutti::capi {
namespace {

std::map<std::string, std::string> provenance(const BuildRequest& request, const onnx::ImportReport& import) {
  std::map<std::string, std::string> out{{"tutti", TUTTI_VERSION},
                                         {"source_sha256", import.source_sha256},
                                         {"producer", import.producer_name},
                                         {"verify", std::string(verify_level_name(request.verify))}};
  for (const auto& [domain, version] : import.opsets) out["opset." + domain] = std::to_string(version);
  return out;
}

Result<engine::PlanPtr> make_plan(const BuildRequest& request, ir::Graph graph, const backend::Backend* backend,
                                  BuildFindings& findings) {
  TUTTI_TRY(compile::optimize(graph, {.backend = backend}, &findings.passes));
  auto plan = std::make_shared<engine::Plan>();
  plan->graph = std::move(graph);
  plan->provenance = provenance(request, findings.import);
  findings.nodes = plan->graph.node_count();
  return engine::PlanPtr(std::move(plan));
}

Status verify(const BuildRequest& request, const engine::PlanPtr& plan, const ir::Graph* original,
              const backend::Backend* backend, BuildFindings& findings) {
  const auto engine = TUTTI_TRY(runtime::Engine::create(
      plan, {.threads = request.threads, .memory_limit_bytes = request.memory_limit_bytes, .backend = backend}));
  findings.verification = TUTTI_TRY(
      compile::verify_plan({engine->executor(), original, engine->threads()}, {request.verify, request.shapes, 0}));
  return {};
}

Status same_file(const BuildRequest& request) {
  const std::filesystem::path model(request.model), engine(request.engine);
  if (model.lexically_normal() != engine.lexically_normal()) return {};
  return make_error(Code::kUsage, "engine_path: found the model's own path {}, expected another file", request.engine);
}

Status build(const BuildRequest& request, BuildFindings& findings) {
  const auto backend = TUTTI_TRY(builtin::select_backend(request.device));
  ir::Graph graph = TUTTI_TRY(onnx::import_model(request.model, {}, &findings.import));
  std::optional<ir::Graph> original;
  if (request.verify == compile::VerifyLevel::kFull) original = graph.clone();
  const engine::PlanPtr plan = TUTTI_TRY(make_plan(request, std::move(graph), backend.get(), findings));
  TUTTI_TRY(verify(request, plan, original ? &*original : nullptr, backend.get(), findings));
  return engine::save_engine(*plan, request.engine, {.writer = TUTTI_VERSION});
}

}  // namespace

Status build_engine(const BuildRequest& request, BuildFindings& findings) {
  TUTTI_TRY(same_file(request));
  TUTTI_TRY(build(request, findings).with_context(request.model));
  findings.saved = true;
  return {};
}

}  // namespace tutti::capi
