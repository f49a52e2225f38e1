#include "onnx/import.h"

#include <filesystem>

#include "base/hash.h"
#include "base/mapped_file.h"
#include "onnx/graph_importer.h"
#include "onnx/reader.h"

namespace tutti::onnx {
namespace {

// One error for all nodes: each operator with its count, reason and hint.
Error summarise(const std::vector<UnsupportedNode>& nodes) {
  constexpr size_t kMostLines = 50;
  std::map<std::string, std::pair<int64_t, const UnsupportedNode*>> kinds;
  for (const UnsupportedNode& node : nodes) {
    auto& [count, first] = kinds[fmt::format("{}.{}: {}", node.domain, node.op, node.reason)];
    if (count++ == 0) first = &node;
  }
  std::string text = fmt::format("{} node{} cannot be imported:", nodes.size(), nodes.size() == 1 ? "" : "s");
  size_t lines = 0;
  for (const auto& [kind, found] : kinds) {
    const auto& [count, first] = found;
    if (lines++ == kMostLines) {
      text += fmt::format("\n  ... and {} more kinds", kinds.size() - kMostLines);
      break;
    }
    text += fmt::format("\n  {} ({}, opset {}) x{}, first '{}': {}", first->op, first->domain, first->version, count,
                        first->name, first->reason);
    if (!first->hint.empty()) text += fmt::format(" ({})", first->hint);
  }
  return Error(Code::kUnsupported, text);
}

void describe_model(const pb::ModelProto& model, ImportReport& report) {
  report.ir_version = model.ir_version();
  report.producer_name = model.producer_name();
  report.producer_version = model.producer_version();
  for (const auto& [domain, version] : read_opsets(model.opset_import()))
    report.opsets[domain.empty() ? "ai.onnx" : domain] = version;
}

// The model's own dictionary keeps its keys; what we add starts with "onnx.".
void keep_metadata(const pb::ModelProto& model, const ImportReport& report, ir::Graph& graph) {
  graph.name = model.graph().name();
  auto& metadata = graph.metadata();
  for (const auto& entry : model.metadata_props()) metadata[entry.key()] = entry.value();
  const auto keep = [&](const char* key, const std::string& value) {
    if (!value.empty()) metadata[fmt::format("onnx.{}", key)] = value;
  };
  keep("producer_name", model.producer_name());
  keep("producer_version", model.producer_version());
  keep("domain", model.domain());
  keep("doc_string", model.doc_string());
  keep("ir_version", std::to_string(model.ir_version()));
  keep("source_sha256", report.source_sha256);
  if (model.model_version() != 0) keep("model_version", std::to_string(model.model_version()));
  for (const auto& [domain, version] : report.opsets) metadata["onnx.opset." + domain] = std::to_string(version);
}

Status index_functions(pb::ModelProto& model, Session& session) {
  for (pb::FunctionProto& function : *model.mutable_functions()) {
    const bool fresh =
        session.functions.emplace(function_key(function.domain(), function.name(), function.overload()), &function)
            .second;
    if (!fresh)
      return make_error(Code::kInvalidModel, "function '{}.{}': found it twice, expected one definition",
                        function.domain(), function.name());
  }
  return {};
}

// Version 1 was implied before models had to name their operator sets.
Opsets main_opsets(const pb::ModelProto& model, Session& session) {
  constexpr int64_t kFirstIrWithImports = 3;
  Opsets opsets = read_opsets(model.opset_import());
  if (!opsets.contains("")) {
    const bool implied = model.ir_version() < kFirstIrWithImports && model.opset_import().empty();
    opsets[""] = implied ? 1 : kNewestOpset;
    if (!implied && opsets.size() == 1) session.warn("the model does not name its operator set: taken as the newest");
  }
  if (opsets[""] > kNewestOpset)
    session.warn(
        fmt::format("the model uses opset {}; the newest known is {}: operators that changed since may be misread",
                    opsets[""], kNewestOpset));
  return opsets;
}

Result<ir::Graph> import_parsed(pb::ModelProto& model, Session& session) {
  TUTTI_TRY(index_functions(model, session));
  const Opsets opsets = main_opsets(model, session);
  ir::Graph graph;
  Scope scope;
  GraphImporter importer(session, graph);
  Status status = importer.import_main(*model.mutable_graph(), Frame{&scope, &opsets, nullptr, {}, 0});
  if (!status.ok()) session.record(status.take_error());
  if (!session.report.unsupported.empty()) {
    if (session.first_error) session.warn(session.first_error->text());
    return summarise(session.report.unsupported);
  }
  if (session.first_error) return *session.first_error;
  keep_metadata(model, session.report, graph);
  return graph;
}

Result<ir::Graph> import_any(std::span<const std::byte> bytes, const std::string& base_dir,
                             const ImportOptions& options, ImportReport* report) {
  ImportReport own_report;
  ImportReport& filled = report ? *report : own_report;
  filled = {};
  std::unique_ptr<pb::ModelProto> model = TUTTI_TRY(parse_model(bytes, options));
  filled.source_sha256 = sha256(bytes).hex();
  describe_model(*model, filled);
  Session session(options, filled, base_dir);
  return import_parsed(*model, session);
}

}  // namespace

Result<ir::Graph> import_model(const std::string& path, const ImportOptions& options, ImportReport* report) {
  const MappedFile file = TUTTI_TRY(MappedFile::open(path));
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return import_any(file.bytes(), folder.empty() ? "." : folder, options, report).with_context(path);
}

Result<ir::Graph> import_model_bytes(std::span<const std::byte> bytes, const std::string& base_dir,
                                     const ImportOptions& options, ImportReport* report) {
  return import_any(bytes, base_dir, options, report);
}

}  // namespace tutti::onnx
