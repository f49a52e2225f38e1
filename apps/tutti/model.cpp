#include "model.h"

#include <chrono>

#include "base/memory_info.h"
#include "builtin/backends.h"
#include "engine/format.h"

namespace tutti::app {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// The backend is kept by `model`.
Result<runtime::EngineOptions> engine_options(const DeviceOptions& device, LoadedModel& model) {
  if (device.precision != "fp32" && device.precision != "auto")
    return Error(Code::kUnsupported, fmt::format("--precision: found '{}', expected fp32", device.precision),
                 "this version computes in the model's own types");
  runtime::EngineOptions options;
  model.backend = TUTTI_TRY(builtin::select_backend(device.device));
  options.backend = model.backend.get();
  options.threads = device.threads > 0 ? device.threads : usable_cpus();
  options.memory_limit_bytes =
      device.memory_limit.empty() ? usable_memory_bytes() : TUTTI_TRY(parse_size(device.memory_limit));
  return options;
}

std::map<std::string, std::string> provenance(const LoadedModel& model, const ModelOptions& options) {
  std::map<std::string, std::string> out{{"tutti", TUTTI_VERSION},
                                         {"source_sha256", model.import.source_sha256},
                                         {"producer", model.import.producer_name},
                                         {"verify", std::string(verify_level_name(options.verify))}};
  for (const auto& [domain, version] : model.import.opsets) out["opset." + domain] = std::to_string(version);
  for (const std::string& pass : options.compile.disabled_passes) out["disabled." + pass] = "yes";
  return out;
}

Status verify(LoadedModel& model, const ModelOptions& options, const ir::Graph* original) {
  const auto start = Clock::now();
  model.verification = TUTTI_TRY(compile::verify_plan({model.engine->executor(), original, model.engine->threads()},
                                                      {options.verify, model.shapes, 0}));
  model.times.verify_s = seconds_since(start);
  return {};
}

Result<LoadedModel> load_engine_file(const ModelOptions& options, const DeviceOptions& device) {
  const auto start = Clock::now();
  LoadedModel model;
  model.shapes = TUTTI_TRY(parse_shapes(options));
  model.engine = TUTTI_TRY(runtime::Engine::load(options.path, TUTTI_TRY(engine_options(device, model))));
  model.load_ms = seconds_since(start) * 1e3;
  return model;
}

}  // namespace

Result<std::vector<ir::ShapeHint>> parse_shapes(const ModelOptions& options) {
  std::vector<ir::ShapeHint> hints;
  for (const std::string& text : options.shape_texts)
    for (ir::ShapeHint& hint : TUTTI_TRY(ir::parse_shape_hints(text))) hints.push_back(std::move(hint));
  return hints;
}

Result<LoadedModel> load_graph(ir::Graph graph, const DeviceOptions& device) {
  LoadedModel model;
  model.compiled = true;
  const runtime::EngineOptions target = TUTTI_TRY(engine_options(device, model));
  auto plan = std::make_shared<engine::Plan>();
  plan->graph = std::move(graph);
  model.engine = TUTTI_TRY(runtime::Engine::create(std::move(plan), target));
  return model;
}

Result<LoadedModel> compile_model(const ModelOptions& options, const DeviceOptions& device) {
  const auto start = Clock::now();
  LoadedModel model;
  model.compiled = true;
  model.shapes = TUTTI_TRY(parse_shapes(options));
  const runtime::EngineOptions target = TUTTI_TRY(engine_options(device, model));
  ir::Graph graph = TUTTI_TRY(onnx::import_model(options.path, {}, &model.import));
  model.times.import_s = seconds_since(start);
  std::optional<ir::Graph> original;
  if (options.verify == compile::VerifyLevel::kFull) original = graph.clone();
  compile::CompileOptions passes = options.compile;
  passes.backend = target.backend;
  TUTTI_TRY(compile::optimize(graph, passes, &model.passes));
  model.times.passes_s = seconds_since(start) - model.times.import_s;
  auto plan = std::make_shared<engine::Plan>();
  plan->graph = std::move(graph);
  plan->provenance = provenance(model, options);
  model.engine = TUTTI_TRY(runtime::Engine::create(std::move(plan), target));
  TUTTI_TRY(verify(model, options, original ? &*original : nullptr));
  model.times.total_s = seconds_since(start);
  model.load_ms = model.times.total_s * 1e3;
  return model;
}

Result<LoadedModel> load_model(const ModelOptions& options, const DeviceOptions& device) {
  // Told apart by content; what is no engine is taken for a model, whose reader says what is wrong with it.
  if (engine::looks_like_engine(options.path)) return load_engine_file(options, device);
  return compile_model(options, device).with_context(options.path);
}

Json ports_json(const ir::Graph& graph, std::span<const ir::Port> ports) {
  Json out = Json::array();
  for (const ir::Port& port : ports) {
    const ir::ValueType& type = graph.value(port.value).type;
    Json shape = nullptr;
    if (type.shape) {
      shape = Json::array();
      for (const ir::Dim& d : *type.shape) shape.push_back(d.is_constant() ? Json(*d.constant()) : Json(d.text()));
    }
    out.push_back({{"name", port.name}, {"dtype", dtype_name(type.dtype)}, {"shape", shape}});
  }
  return out;
}

Json verification_json(const compile::VerifyReport& report) {
  Json out{{"level", verify_level_name(report.level)},
           {"runs", report.runs},
           {"steps_checked", report.steps_checked},
           {"sampled_steps", report.sampled_steps},
           {"seconds", report.seconds}};
  if (report.worst)
    out["worst"] = {{"node", report.worst->node},
                    {"op", report.worst->op},
                    {"kernel", report.worst->kernel},
                    {"max_relative_error", report.worst->max_relative_error},
                    {"max_absolute_error", report.worst->max_absolute_error}};
  return out;
}

}  // namespace tutti::app
