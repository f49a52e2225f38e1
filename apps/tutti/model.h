// From a path to something that runs: an engine file is loaded, a model is imported and compiled.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "command.h"
#include "compile/compiler.h"
#include "compile/verify.h"
#include "ir/shape_hint.h"
#include "onnx/import.h"
#include "report.h"
#include "runtime/engine.h"

namespace tutti::app {

struct ModelOptions {
  std::string path;
  std::vector<std::string> shape_texts;  // --shapes, repeatable
  compile::CompileOptions compile;
  compile::VerifyLevel verify = compile::VerifyLevel::kFast;
};

// Where the time of a build went.
struct BuildTimes {
  double import_s = 0, passes_s = 0, verify_s = 0, total_s = 0;
};

struct LoadedModel {
  std::unique_ptr<backend::Backend> backend;  // outlives the engine
  runtime::EnginePtr engine;
  std::vector<ir::ShapeHint> shapes;
  bool compiled = false;      // from a model rather than an engine file
  onnx::ImportReport import;  // when compiled
  compile::CompileReport passes;
  compile::VerifyReport verification;
  BuildTimes times;
  double load_ms = 0;  // until the engine can run

  const ir::Graph& graph() const { return engine->plan().graph; }
};

// Compiles PATH.onnx, or loads an engine (told apart by content, not by name).
Result<LoadedModel> load_model(const ModelOptions& options, const DeviceOptions& device);
// Compiles only; an engine file is an error.
Result<LoadedModel> compile_model(const ModelOptions& options, const DeviceOptions& device);

// An engine of the graph as it stands: no pass runs, nothing is compared.
Result<LoadedModel> load_graph(ir::Graph graph, const DeviceOptions& device);
// The hints of all --shapes.
Result<std::vector<ir::ShapeHint>> parse_shapes(const ModelOptions& options);

// --shapes, --disable-pass, --stop-after-patch, --dump-ir: wherever a model may be compiled.
void add_compile_options(CLI::App& command, ModelOptions& options);

// The declared inputs and outputs as [{"name", "dtype", "shape"}].
Json ports_json(const ir::Graph& graph, std::span<const ir::Port> ports);
Json verification_json(const compile::VerifyReport& report);

}  // namespace tutti::app
