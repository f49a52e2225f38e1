#include "stepping.h"

#include <cstring>
#include <optional>

namespace tutti::app {
namespace {

using ir::Datum;
using ir::Tensor;

struct Carry {
  size_t output, input;
};

std::optional<size_t> find_port(const std::vector<ir::Port>& ports, std::string_view name) {
  for (size_t i = 0; i < ports.size(); ++i)
    if (ports[i].name == name) return i;
  return std::nullopt;
}

Result<size_t> port_index(const std::vector<ir::Port>& ports, std::string_view option, std::string_view name) {
  if (const auto found = find_port(ports, name)) return *found;
  std::string names;
  for (const ir::Port& port : ports) names += (names.empty() ? "" : ", ") + port.name;
  return make_error(Code::kUsage, "{}: found '{}', expected one of {}", option, name, names);
}

Result<std::vector<Carry>> parse_carries(const ir::Graph& graph, const std::vector<std::string>& texts) {
  std::vector<Carry> out;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos)
      return make_error(Code::kUsage, "--carry: found '{}', expected OUTPUT=INPUT", text);
    const size_t output = TUTTI_TRY(port_index(graph.outputs(), "--carry", text.substr(0, equals)));
    out.push_back({output, TUTTI_TRY(port_index(graph.inputs(), "--carry", text.substr(equals + 1)))});
  }
  return out;
}

// Row `step` of a tensor with the first axis kept as 1; shares the storage.
Tensor row(const Tensor& whole, int64_t step) {
  ir::Dims dims = whole.dims();
  dims[0] = 1;
  const size_t bytes = whole.size_bytes() / static_cast<size_t>(whole.dim(0));
  auto owner = std::make_shared<const Tensor>(whole);
  const void* data = static_cast<const char*>(whole.raw()) + static_cast<size_t>(step) * bytes;
  return Tensor::view(whole.dtype(), std::move(dims), data, std::move(owner));
}

Result<Tensor> join(const std::vector<Tensor>& parts) {
  ir::Dims dims = parts[0].dims();
  if (dims.empty()) dims = {1};
  for (const Tensor& part : parts)
    if (part.dims() != parts[0].dims())
      return make_error(Code::kUnsupported, "--steps: found outputs of shapes {} and {}, expected equal ones",
                        parts[0].type_text(), part.type_text());
  dims[0] *= static_cast<int64_t>(parts.size());
  Tensor out = Tensor::allocate(parts[0].dtype(), dims);
  char* at = static_cast<char*>(out.mutable_raw());
  for (const Tensor& part : parts) {
    if (part.size_bytes() > 0) std::memcpy(at, part.raw(), part.size_bytes());
    at += part.size_bytes();
  }
  return out;
}

bool is_carried(const std::vector<Carry>& carries, size_t output) {
  for (const Carry& carry : carries)
    if (carry.output == output) return true;
  return false;
}

}  // namespace

Result<std::vector<Datum>> run_steps(runtime::ExecutionContext& context, const ir::Graph& graph,
                                     std::vector<Datum> inputs, const SteppingOptions& options) {
  if (options.input.empty()) return context.run(inputs);
  const size_t stepped = TUTTI_TRY(port_index(graph.inputs(), "--steps", options.input));
  const auto carries = TUTTI_TRY(parse_carries(graph, options.carried));
  const Tensor whole = inputs[stepped].is_tensor() ? inputs[stepped].tensor() : Tensor();
  if (whole.rank() < 1 || whole.dim(0) < 1)
    return make_error(Code::kUsage, "--steps {}: found {}, expected a tensor with at least one row", options.input,
                      whole.type_text());
  std::vector<std::vector<Tensor>> parts(graph.outputs().size());
  std::vector<Datum> outputs;
  for (int64_t step = 0; step < whole.dim(0); ++step) {
    inputs[stepped] = row(whole, step);
    outputs = TUTTI_TRY(context.run(inputs).with_context(fmt::format("step {}", step)));
    for (const Carry& carry : carries) inputs[carry.input] = outputs[carry.output];
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (is_carried(carries, i)) continue;
      if (!outputs[i].is_tensor())
        return make_error(Code::kUnsupported, "--steps: output '{}' is not a tensor", graph.outputs()[i].name);
      parts[i].push_back(outputs[i].tensor());
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i)
    if (!is_carried(carries, i)) outputs[i] = TUTTI_TRY(join(parts[i]));
  return outputs;
}

}  // namespace tutti::app
