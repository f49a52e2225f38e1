// The two sides of `tutti compare`: where outputs, and the values of layers, come from.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model.h"

namespace tutti::app {

struct NamedOutput {
  std::string name;
  ir::Datum datum;
};

// A value that a node of the outermost graph has just made. Holds until the visitor returns.
struct LayerValue {
  const std::string& name;  // of the value
  const ir::Node& node;
  std::string_view kernel;
  const ir::Datum& datum;
};
using LayerVisitor = std::function<Status(const LayerValue&)>;

// One side: an engine, a model compiled or as it was imported, or a directory of outputs. One thread at a time.
class Side {
 public:
  // Told apart by content, as load_model does. What is compiled is not verified: the comparison is the check.
  static Result<Side> open(ModelOptions options, const DeviceOptions& device);
  // A model without any pass, on the reference interpreter; an engine file or a directory is a usage error.
  static Result<Side> open_uncompiled(const ModelOptions& options);
  // A graph as it stands, with the device's kernels.
  static Result<Side> of_graph(const ir::Graph& graph, const DeviceOptions& device);

  const std::string& path() const { return path_; }
  std::string_view kind() const;  // "engine", "model", "uncompiled", "directory"
  bool is_directory() const { return !model_ && !uncompiled_; }
  const ir::Graph* graph() const;  // null for a directory
  const backend::Backend* backend() const { return model_ ? model_->backend.get() : nullptr; }
  std::span<const ir::ShapeHint> shapes() const { return shapes_; }

  // Inputs in the order of graph(); a directory ignores them. An error of `visit` ends the run.
  Result<std::vector<NamedOutput>> run(std::span<const ir::Datum> inputs, const LayerVisitor& visit = {}) const;

 private:
  Result<std::vector<NamedOutput>> read_files() const;
  Result<std::vector<ir::Datum>> run_engine(std::span<const ir::Datum> inputs, const LayerVisitor& visit) const;
  Result<std::vector<ir::Datum>> run_interpreter(std::span<const ir::Datum> inputs, const LayerVisitor& visit) const;

  std::string path_;
  std::optional<LoadedModel> model_;
  std::optional<ir::Graph> uncompiled_;
  std::vector<ir::ShapeHint> shapes_;
};

// The inputs of `from`, by name, in the order of `to`. An input that `from` lacks is an error, unless it is optional.
Result<std::vector<ir::Datum>> inputs_by_name(const ir::Graph& from, std::span<const ir::Datum> inputs,
                                              const ir::Graph& to);

}  // namespace tutti::app
