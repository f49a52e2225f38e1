#include "compare_sides.h"

#include <algorithm>
#include <filesystem>

#include "engine/file_pages.h"
#include "engine/format.h"
#include "onnx/tensor_file.h"
#include "ops/interpreter.h"
#include "runtime/context.h"
#include "transforms/npy.h"

namespace tutti::app {
namespace {

using ir::Datum;

Status visit_outputs(const ir::Graph& graph, ir::NodeId id, std::string_view kernel, std::span<const Datum> outputs,
                     const LayerVisitor& visit) {
  const ir::Node& node = graph.node(id);
  for (size_t i = 0; i < outputs.size() && i < node.outputs.size(); ++i)
    if (node.outputs[i] != ir::kNoValue)
      TUTTI_TRY(visit({graph.value(node.outputs[i]).name, node, kernel, outputs[i]}));
  return {};
}

std::string names_of(const std::vector<ir::Port>& ports) {
  std::string out;
  for (const ir::Port& port : ports) out += (out.empty() ? "" : ", ") + port.name;
  return out;
}

}  // namespace

Result<Side> Side::open(ModelOptions options, const DeviceOptions& device) {
  Side side;
  side.path_ = options.path;
  if (std::filesystem::is_directory(options.path)) return side;
  options.verify = compile::VerifyLevel::kOff;
  side.model_ = TUTTI_TRY(load_model(options, device));
  side.shapes_ = side.model_->shapes;
  return side;
}

Result<Side> Side::open_uncompiled(const ModelOptions& options) {
  if (std::filesystem::is_directory(options.path) || engine::looks_like_engine(options.path))
    return Error(Code::kUsage,
                 fmt::format("{}: found {}, expected an ONNX model to run uncompiled", options.path,
                             std::filesystem::is_directory(options.path) ? "a directory" : "an engine"),
                 "give the second thing to compare: tutti compare A B; only a model can be compared with itself");
  Side side;
  side.path_ = options.path;
  side.uncompiled_ = TUTTI_TRY(onnx::import_model(options.path, {}, nullptr).with_context(options.path));
  side.shapes_ = TUTTI_TRY(parse_shapes(options));
  return side;
}

Result<Side> Side::of_graph(const ir::Graph& graph, const DeviceOptions& device) {
  Side side;
  side.model_ = TUTTI_TRY(load_graph(graph.clone(), device));
  return side;
}

std::string_view Side::kind() const {
  if (uncompiled_) return "uncompiled";
  if (!model_) return "directory";
  return model_->compiled ? "model" : "engine";
}

const ir::Graph* Side::graph() const {
  if (uncompiled_) return &*uncompiled_;
  return model_ ? &model_->graph() : nullptr;
}

Result<std::vector<NamedOutput>> Side::run(std::span<const Datum> inputs, const LayerVisitor& visit) const {
  if (is_directory()) return read_files();
  auto run = uncompiled_ ? run_interpreter(inputs, visit) : run_engine(inputs, visit);
  auto data = TUTTI_TRY(std::move(run).with_context(path_));
  std::vector<NamedOutput> out;
  for (size_t i = 0; i < data.size(); ++i) out.push_back({graph()->outputs()[i].name, std::move(data[i])});
  return out;
}

Result<std::vector<Datum>> Side::run_engine(std::span<const Datum> inputs, const LayerVisitor& visit) const {
  runtime::ExecutionContext context(model_->engine);
  if (visit)
    context.observe([&](const exec::StepEvent& event) {
      return event.depth == 0 ? visit_outputs(event.graph, event.node, event.kernel, event.outputs, visit)
                              : ok_status();
    });
  return context.run(inputs);
}

Result<std::vector<Datum>> Side::run_interpreter(std::span<const Datum> inputs, const LayerVisitor& visit) const {
  Status status;  // the interpreter's callback cannot stop it
  const auto on_node = [&](ir::NodeId id, std::span<const Datum> read, std::span<const Datum> made) {
    if (visit && status.ok()) status = visit_outputs(*uncompiled_, id, "interpreter", made, visit);
    for (const Datum& in : read)  // mapped weights are given back as soon as they have been read
      if (in.is_tensor()) engine::drop_pages(in.tensor());
  };
  auto outputs = TUTTI_TRY(ops::interpret(*uncompiled_, inputs, {.on_node = on_node}));
  TUTTI_TRY(std::move(status));
  return outputs;
}

Result<std::vector<NamedOutput>> Side::read_files() const {
  std::vector<std::filesystem::path> files;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(path_, failed))
    if (entry.path().extension() == ".npy" || entry.path().extension() == ".pb") files.push_back(entry.path());
  if (failed) return make_error(Code::kIo, "{}: cannot read the directory: {}", path_, failed.message());
  if (files.empty())
    return Error(Code::kInvalidInput, fmt::format("{}: found no .npy file, expected one per output", path_),
                 "tutti run MODEL --output-dir DIR writes them");
  std::sort(files.begin(), files.end());
  std::vector<NamedOutput> out;
  for (const auto& file : files) {
    Datum datum = file.extension() == ".pb" ? TUTTI_TRY(onnx::read_tensor_proto_file(file.string()))
                                            : Datum(TUTTI_TRY(transforms::read_npy(file.string())));
    out.push_back({file.stem().string(), std::move(datum)});
  }
  return out;
}

Result<std::vector<Datum>> inputs_by_name(const ir::Graph& from, std::span<const Datum> inputs, const ir::Graph& to) {
  std::vector<Datum> out;
  for (const ir::Port& wanted : to.inputs()) {
    const auto found = std::find_if(from.inputs().begin(), from.inputs().end(),
                                    [&](const ir::Port& port) { return port.name == wanted.name; });
    const bool missing = found == from.inputs().end();
    if (missing && !to.value(wanted.value).type.is_optional)
      return Error(Code::kInvalidInput,
                   fmt::format("input '{}' of one side: found no input of that name on the other, which has {}",
                               wanted.name, names_of(from.inputs())),
                   "compare two forms of one model, or directories that `tutti run --output-dir` wrote");
    out.push_back(missing ? Datum() : inputs[static_cast<size_t>(found - from.inputs().begin())]);
  }
  return out;
}

}  // namespace tutti::app
