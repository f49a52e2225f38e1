// Tensors of the command line: inputs from files or made up, outputs to files.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/shape_hint.h"
#include "report.h"

namespace tutti::app {

// --input NAME=FILE (.npy or .pb); NAME may be left out when there is one input. What is not given is random by `seed`
// at `shapes`.
struct InputOptions {
  std::vector<std::string> files;
  std::optional<uint64_t> random_seed;
};
Result<std::vector<ir::Datum>> load_inputs(const ir::Graph& graph, const InputOptions& options,
                                           std::span<const ir::ShapeHint> shapes);

// The name of an output's file, without its ending: '/' and ':' become '_'.
std::string file_stem(std::string name);
// Writes each output to DIR/NAME.npy (.pb for types that NumPy lacks). Two outputs on one file name are an error.
// Returns the paths.
Result<std::vector<std::string>> save_outputs(const ir::Graph& graph, std::span<const ir::Datum> outputs,
                                              const std::string& directory);

// Name, type and a few statistics of a result.
Json describe_output(const std::string& name, const ir::Datum& datum);

}  // namespace tutti::app
