#include "tensors.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "onnx/tensor_file.h"
#include "ops/sample_inputs.h"
#include "transforms/npy.h"

namespace tutti::app {
namespace {

using ir::Datum;

std::string input_names(const ir::Graph& graph) {
  std::string out;
  for (const ir::Port& port : graph.inputs()) out += (out.empty() ? "" : ", ") + port.name;
  return out;
}

// Which input a --input argument means, and its file.
Result<std::pair<size_t, std::string>> match_input(const ir::Graph& graph, const std::string& text) {
  for (size_t i = 0; i < graph.inputs().size(); ++i)  // names may contain '=': the declared names decide
    if (text.starts_with(graph.inputs()[i].name + "="))
      return std::pair{i, text.substr(graph.inputs()[i].name.size() + 1)};
  if (text.find('=') == std::string::npos && graph.inputs().size() == 1) return std::pair{size_t{0}, text};
  return Error(Code::kUsage, fmt::format("--input: found '{}', expected NAME=FILE", text),
               fmt::format("the model's inputs are {}", input_names(graph)));
}

Result<Datum> read_input(const ir::Graph& graph, size_t index, const std::string& file) {
  if (file.empty())
    return make_error(Code::kUsage, "--input {}=: found no file, expected NAME=FILE", graph.inputs()[index].name);
  const ir::ValueType& type = graph.value(graph.inputs()[index].value).type;
  const auto kind = type.is_optional                              ? onnx::ProtoKind::kOptional
                    : type.kind == ir::ValueType::Kind::kSequence ? onnx::ProtoKind::kSequence
                                                                  : onnx::ProtoKind::kTensor;
  if (file.ends_with(".pb")) return onnx::read_tensor_proto_file(file, kind);
  return Datum(TUTTI_TRY(transforms::read_npy(file)));
}

// Shapes for what is made up: hints and the shapes of the files that were given.
Result<std::vector<Datum>> fill_random(const ir::Graph& graph, std::vector<Datum> given, uint64_t seed,
                                       std::span<const ir::ShapeHint> shapes) {
  std::vector<ir::ShapeHint> hints(shapes.begin(), shapes.end());
  for (size_t i = 0; i < given.size(); ++i)
    if (given[i].is_tensor())
      hints.push_back(
          {graph.inputs()[i].name, given[i].tensor().dims(), given[i].tensor().dims(), given[i].tensor().dims()});
  const auto dims = TUTTI_TRY(ir::resolve_input_shapes(graph, hints, ir::ShapePoint::kTypical));
  auto sampled = TUTTI_TRY(ops::sample_inputs(graph, dims, ops::SampleKind::kRandom, seed));
  for (size_t i = 0; i < given.size(); ++i)
    if (given[i].empty()) given[i] = std::move(sampled[i]);
  return given;
}

Json statistics(const ir::Tensor& tensor) {
  if (tensor.dtype() == ir::DType::kString || ir::is_complex(tensor.dtype()) || tensor.size() == 0) return nullptr;
  double low = INFINITY, high = -INFINITY, sum = 0;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const double value = tensor.get_double(i);
    low = std::min(low, value);
    high = std::max(high, value);
    sum += value;
  }
  return {{"min", low}, {"max", high}, {"mean", sum / static_cast<double>(tensor.size())}};
}

}  // namespace

std::string file_stem(std::string name) {
  std::replace(name.begin(), name.end(), '/', '_');
  std::replace(name.begin(), name.end(), ':', '_');
  return name;
}

Result<std::vector<Datum>> load_inputs(const ir::Graph& graph, const InputOptions& options,
                                       std::span<const ir::ShapeHint> shapes) {
  std::vector<Datum> inputs(graph.inputs().size());
  for (const std::string& text : options.files) {
    const auto [index, file] = TUTTI_TRY(match_input(graph, text));
    if (!inputs[index].empty())
      return make_error(Code::kUsage, "--input: found '{}' twice, expected each input once",
                        graph.inputs()[index].name);
    inputs[index] = TUTTI_TRY(read_input(graph, index, file));
  }
  if (options.random_seed) return fill_random(graph, std::move(inputs), *options.random_seed, shapes);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].empty() && !graph.value(graph.inputs()[i].value).type.is_optional)
      return Error(Code::kUsage,
                   fmt::format("input '{}': found no value, expected --input {}=FILE", graph.inputs()[i].name,
                               graph.inputs()[i].name),
                   "--random-inputs SEED makes up what is not given");
  return inputs;
}

Result<std::vector<std::string>> save_outputs(const ir::Graph& graph, std::span<const Datum> outputs,
                                              const std::string& directory) {
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  if (failed) return make_error(Code::kIo, "{}: cannot create the folder: {}", directory, failed.message());
  std::set<std::string> taken;
  std::vector<std::string> paths;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = graph.outputs()[i].name;
    if (!outputs[i].is_tensor())
      return make_error(Code::kUnsupported, "output '{}': found a sequence, expected a tensor to write", name);
    const bool as_npy = transforms::npy_supports(outputs[i].tensor().dtype());
    const std::string path = fmt::format("{}/{}{}", directory, file_stem(name), as_npy ? ".npy" : ".pb");
    if (!taken.insert(path).second)
      return make_error(Code::kInvalidModel, "output '{}': found a second output for the file {}, expected one each",
                        name, path);
    TUTTI_TRY(as_npy ? transforms::write_npy(path, outputs[i].tensor())
                     : onnx::write_tensor_proto_file(path, outputs[i].tensor(), name));
    paths.push_back(path);
  }
  return paths;
}

Json describe_output(const std::string& name, const Datum& datum) {
  if (datum.empty()) return {{"name", name}, {"kind", "none"}};
  if (datum.is_sequence()) return {{"name", name}, {"kind", "sequence"}, {"length", datum.sequence().size()}};
  const ir::Tensor& tensor = datum.tensor();
  return {{"name", name},
          {"dtype", dtype_name(tensor.dtype())},
          {"shape", tensor.dims()},
          {"statistics", statistics(tensor)}};
}

}  // namespace tutti::app
