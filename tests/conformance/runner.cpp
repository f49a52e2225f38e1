#include "conformance/runner.h"

#include <filesystem>

#include "builtin/backends.h"
#include "compile/compiler.h"
#include "compile/lower.h"
#include "conformance/closeness.h"
#include "onnx/import.h"
#include "onnx/tensor_file.h"
#include "ops/interpreter.h"
#include "runtime/context.h"

namespace tutti::conformance {
namespace {

using ir::Datum;
using ir::Graph;
using ir::ValueType;

class InterpreterSession final : public Session {
 public:
  explicit InterpreterSession(Graph graph) : graph_(std::move(graph)) {}
  Result<std::vector<Datum>> run(std::span<const Datum> inputs) override { return ops::interpret(graph_, inputs); }

 private:
  Graph graph_;
};

class InterpreterRunner final : public Runner {
 public:
  Result<std::unique_ptr<Session>> prepare(Graph graph) override {
    return std::unique_ptr<Session>(std::make_unique<InterpreterSession>(std::move(graph)));
  }
};

class EngineSession final : public Session {
 public:
  explicit EngineSession(runtime::EnginePtr engine) : context_(std::move(engine)) {}
  Result<std::vector<Datum>> run(std::span<const Datum> inputs) override { return context_.run(inputs); }

 private:
  runtime::ExecutionContext context_;
};

// Compiles for a backend and runs the engine.
class EngineRunner final : public Runner {
 public:
  EngineRunner(std::unique_ptr<backend::Backend> backend, int threads)
      : backend_(std::move(backend)), threads_(threads) {}
  Result<std::unique_ptr<Session>> prepare(Graph graph) override {
    compile::CompileOptions options;
    options.backend = backend_.get();
    TUTTI_TRY(compile::optimize(graph, options, nullptr));
    runtime::EngineOptions engine_options;
    engine_options.backend = backend_.get();
    engine_options.threads = threads_;
    auto engine = TUTTI_TRY(runtime::Engine::create(TUTTI_TRY(compile::lower(std::move(graph))), engine_options));
    return std::unique_ptr<Session>(std::make_unique<EngineSession>(std::move(engine)));
  }

 private:
  std::unique_ptr<backend::Backend> backend_;
  int threads_;
};

// The files of one data set, read by the types of the graph's ports.
struct DataSet {
  std::vector<Datum> inputs, outputs;
};

Result<std::vector<Datum>> read_ports(const std::string& prefix, const std::vector<ValueType>& types) {
  std::vector<Datum> data;
  for (size_t i = 0; i < types.size(); ++i) {
    const std::string path = fmt::format("{}_{}.pb", prefix, i);
    if (!std::filesystem::exists(path)) {
      data.emplace_back();
      continue;
    }
    const auto kind = types[i].is_optional                          ? onnx::ProtoKind::kOptional
                      : types[i].kind == ValueType::Kind::kSequence ? onnx::ProtoKind::kSequence
                                                                    : onnx::ProtoKind::kTensor;
    Datum datum = TUTTI_TRY(onnx::read_tensor_proto_file(path, kind));
    // The type says optional where the model says sequence, when a loop starts from an optional; the file is as the
    // model says.
    if (!datum.is_sequence() && types[i].kind == ValueType::Kind::kSequence) {
      auto sequence = onnx::read_tensor_proto_file(path, onnx::ProtoKind::kSequence);
      if (sequence.ok() && sequence->is_sequence() && !sequence->sequence().empty()) datum = *std::move(sequence);
    }
    data.push_back(std::move(datum));
  }
  return data;
}

std::vector<ValueType> port_types(const Graph& graph, const std::vector<ir::Port>& ports) {
  std::vector<ValueType> types;
  for (const ir::Port& port : ports) types.push_back(graph.value(port.value).type);
  return types;
}

}  // namespace

Result<std::unique_ptr<Runner>> make_runner(const std::string& backend, int threads) {
  if (backend == "interpreter") return std::unique_ptr<Runner>(std::make_unique<InterpreterRunner>());
  return std::unique_ptr<Runner>(std::make_unique<EngineRunner>(TUTTI_TRY(builtin::select_backend(backend)), threads));
}

Status run_case(const Case& test, Runner& runner) {
  Graph graph = TUTTI_TRY(onnx::import_model(test.folder + "/model.onnx").with_context("import"));
  const auto input_types = port_types(graph, graph.inputs()), output_types = port_types(graph, graph.outputs());
  auto session = TUTTI_TRY(runner.prepare(std::move(graph)).with_context("prepare"));
  for (int set = 0;; ++set) {
    const std::string folder = fmt::format("{}/test_data_set_{}", test.folder, set);
    if (!std::filesystem::exists(folder))
      return set > 0 ? ok_status() : Status(make_error(Code::kNotFound, "{} holds no data set", test.folder));
    const auto inputs = TUTTI_TRY(read_ports(folder + "/input", input_types).with_context("input"));
    const auto expected = TUTTI_TRY(read_ports(folder + "/output", output_types).with_context("output"));
    const auto actual = TUTTI_TRY(session->run(inputs).with_context("run"));
    for (size_t i = 0; i < expected.size(); ++i)
      TUTTI_TRY(check_close(actual[i], expected[i]).with_context(fmt::format("data set {}, output {}", set, i)));
  }
}

}  // namespace tutti::conformance
