#include "ops/sample_inputs.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ir/op_def.h"

namespace tutti::ops {
namespace {

using ir::DType;
using ir::Graph;
using ir::Node;
using ir::Tensor;
using ir::ValueId;

bool passes_values_on(std::string_view op) {
  constexpr std::array<std::string_view, 12> kOps{"Cast",    "Concat", "Expand",  "Flatten", "Gather",    "Identity",
                                                  "Reshape", "Slice",  "Squeeze", "Tile",    "Transpose", "Unsqueeze"};
  return std::find(kOps.begin(), kOps.end(), op) != kOps.end();
}

// Rows that the indices of a node select from, when the value arrives in an index slot.
std::optional<int64_t> selected_rows(const Graph& graph, const Node& node, int slot) {
  const bool selects = (node.op->name == "Gather" || node.op->name == "GatherElements") && slot == 1;
  if (!selects) return std::nullopt;
  const ir::ValueType& data = graph.value(node.inputs[0]).type;
  if (!data.shape || data.shape->empty()) return std::nullopt;
  // Embeddings are gathered along axis 0; the first dimension that is a number bounds the other cases from below.
  for (const ir::Dim& d : *data.shape)
    if (d.is_constant()) return d.constant();
  return std::nullopt;
}

// The number that an integer is compared with for equality, when that is a scalar constant.
std::optional<int64_t> compared_number(const Graph& graph, const Node& node, int slot) {
  if (node.op->name != "Equal") return std::nullopt;
  const Tensor& other = graph.value(node.inputs[static_cast<size_t>(1 - slot)]).constant;
  if (!other.defined() || other.size() != 1 || !ir::is_integer(other.dtype())) return std::nullopt;
  return other.get_int(0);
}

IntegerRange range_of(const Graph& graph, ValueId input) {
  std::optional<int64_t> rows;
  IntegerRange range;
  std::vector<ValueId> frontier{input};
  std::vector<bool> seen(static_cast<size_t>(graph.value_capacity()));
  while (!frontier.empty()) {
    const ValueId id = frontier.back();
    frontier.pop_back();
    if (seen[static_cast<size_t>(id)]) continue;
    seen[static_cast<size_t>(id)] = true;
    for (const ir::Use& use : graph.value(id).uses) {
      const Node& node = graph.node(use.node);
      if (const auto number = compared_number(graph, node, use.slot))
        range.compared.push_back(*number);
      else if (const auto bound = selected_rows(graph, node, use.slot))
        rows = std::min(rows.value_or(INT64_MAX), *bound);
      else if (passes_values_on(node.op->name) && (use.slot == 0 || node.op->name == "Concat"))
        for (const ValueId out : node.outputs)
          if (out != ir::kNoValue) frontier.push_back(out);
    }
  }
  if (rows) return {0, std::max<int64_t>(*rows - 1, 0), {}};
  // Only a single number is compared as a mode; a mask or token ids are compared element by element.
  if (!graph.value(input).type.has_rank() || graph.value(input).type.rank() > 0) range.compared.clear();
  return range;
}

constexpr std::array<double, 10> kEdgeValues{0.0, 1.0, -1.0, 0.5, -8.0, 8.0, 1e-4, -1e-4, 30.0, -30.0};

void fill_floats(Tensor& tensor, SampleKind kind, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  const int64_t row = tensor.rank() == 0 ? 1 : std::max<int64_t>(tensor.dim(tensor.rank() - 1), 1);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    // Every other row repeats the first one: equal rows must give equal results.
    const int64_t position = (i / row) % 2 == 0 ? i % row : i;
    tensor.set_double(i, kind == SampleKind::kRandom ? normal(random)
                                                     : kEdgeValues[static_cast<size_t>(position) % kEdgeValues.size()]);
  }
}

void fill_integers(Tensor& tensor, const IntegerRange& range, SampleKind kind, std::mt19937_64& random) {
  if (!range.compared.empty()) {
    for (int64_t i = 0; i < tensor.size(); ++i) tensor.set_int(i, range.compared[random() % range.compared.size()]);
    return;
  }
  std::uniform_int_distribution<int64_t> uniform(range.low, range.high);
  for (int64_t i = 0; i < tensor.size(); ++i)
    tensor.set_int(i, kind == SampleKind::kRandom ? uniform(random) : (i % 3 == 1 ? range.low : range.high));
}

// What the type itself can hold, where that is narrower.
IntegerRange clipped(const IntegerRange& range, DType dtype) {
  const int bits = ir::dtype_bits(dtype);
  if (dtype == DType::kBool) return {0, 1, {}};
  if (bits >= 32) return range;
  const int64_t high = ir::is_signed_integer(dtype) ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1;
  // Narrow integers are quantized data or pixels: their whole range is natural.
  return {ir::is_signed_integer(dtype) ? -high - 1 : 0, range.high > 1 ? std::min(range.high, high) : high,
          range.compared};
}

}  // namespace

std::vector<IntegerRange> integer_input_ranges(const Graph& graph) {
  std::vector<IntegerRange> ranges;
  for (const ir::Port& port : graph.inputs()) {
    ranges.push_back(ir::is_integer(graph.value(port.value).type.dtype) ? range_of(graph, port.value) : IntegerRange{});
  }
  return ranges;
}

Tensor sample_tensor(DType dtype, const ir::Dims& dims, const IntegerRange& range, SampleKind kind,
                     std::mt19937_64& random) {
  Tensor out = Tensor::zeros(dtype, dims);
  if (dtype == DType::kString) return out;
  if (ir::is_complex(dtype)) {
    Tensor parts = Tensor::view(dtype == DType::kComplex64 ? DType::kFloat32 : DType::kFloat64, {2 * out.size()},
                                out.raw(), nullptr);
    fill_floats(parts, kind, random);
  } else if (ir::is_floating(dtype)) {
    fill_floats(out, kind, random);
  } else {
    fill_integers(out, clipped(range, dtype), kind, random);
  }
  return out;
}

Result<std::vector<ir::Datum>> sample_inputs(const Graph& graph, std::span<const ir::Dims> shapes, SampleKind kind,
                                             uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::vector<IntegerRange> ranges = integer_input_ranges(graph);
  std::vector<ir::Datum> out;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const ir::Port& port = graph.inputs()[i];
    const ir::ValueType& type = graph.value(port.value).type;
    if (!type.is_tensor())
      return make_error(Code::kUnsupported, "input '{}': found {}, expected a tensor to make up random values for",
                        port.name, type.text());
    TUTTI_TRY(ir::checked_element_count(shapes[i]).with_context(fmt::format("input '{}'", port.name)));
    out.emplace_back(sample_tensor(type.dtype, shapes[i], ranges[i], kind, random));
  }
  return out;
}

}  // namespace tutti::ops
