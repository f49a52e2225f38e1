#include "ir/shape_hint.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace tutti::ir {
namespace {

Error bad_shape(std::string_view text) {
  return Error(Code::kUsage, fmt::format("--shapes: found '{}', expected sizes such as 1x3x224x224", text),
               "give NAME=1x3x224x224, or NAME=MIN:TYPICAL:MAX for a range; several inputs are separated by commas");
}

Result<Dims> parse_dims(std::string_view text) {
  Dims dims;
  if (text.empty() || text == "scalar") return dims;
  size_t start = 0;
  while (start <= text.size()) {
    const size_t end = std::min(text.find('x', start), text.size());
    int64_t value = -1;
    const auto [stop, code] = std::from_chars(text.data() + start, text.data() + end, value);
    if (code != std::errc() || stop != text.data() + end || value < 0) return bad_shape(text);
    dims.push_back(value);
    start = end + 1;
  }
  return dims;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  size_t start = 0;
  while (start <= text.size()) {
    const size_t end = std::min(text.find(separator, start), text.size());
    parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

// "NAME=RANGE" where the name may itself contain ':' (tensor names do) but not '='; a bare RANGE has no name.
Result<ShapeHint> parse_hint(std::string_view text) {
  const size_t equals = text.rfind('=');
  ShapeHint hint;
  if (equals != std::string_view::npos) hint.input = text.substr(0, equals);
  const std::string_view range = equals == std::string_view::npos ? text : text.substr(equals + 1);
  const auto parts = split(range, ':');
  if (parts.size() != 1 && parts.size() != 3) return bad_shape(range);
  hint.min = TUTTI_TRY(parse_dims(parts.front()));
  hint.typical = TUTTI_TRY(parse_dims(parts[parts.size() / 2]));
  hint.max = TUTTI_TRY(parse_dims(parts.back()));
  if (hint.min.size() != hint.typical.size() || hint.max.size() != hint.typical.size()) return bad_shape(range);
  for (size_t i = 0; i < hint.min.size(); ++i)
    if (hint.min[i] > hint.typical[i] || hint.typical[i] > hint.max[i])
      return make_error(Code::kUsage, "--shapes: '{}': found {}:{}:{} in dimension {}, expected MIN <= TYPICAL <= MAX",
                        text, hint.min[i], hint.typical[i], hint.max[i], i);
  return hint;
}

std::string input_list(const Graph& graph) {
  std::string out;
  for (const Port& port : graph.inputs())
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", port.name, graph.value(port.value).type.text());
  return out;
}

Result<const Port*> hinted_port(const Graph& graph, const ShapeHint& hint) {
  if (hint.input.empty() && graph.inputs().size() == 1) return &graph.inputs()[0];
  for (const Port& port : graph.inputs())
    if (port.name == hint.input) return &port;
  return Error(Code::kUsage,
               fmt::format("--shapes: found input name '{}', expected one of the model's inputs", hint.input),
               fmt::format("the inputs are {}", input_list(graph)));
}

using Sizes = std::array<int64_t, kShapeAttempts>;
constexpr Sizes kSmallImages{64, 96, 128, 224, 32, 48, 256, 320, 384, 16},
    kUsualImages{224, 256, 320, 640, 128, 192, 384, 512, 64, 32};
constexpr Sizes kSmallSizes{8, 16, 64, 4, 1, 2, 256, 576, 128, 1024},
    kUsualSizes{32, 16, 64, 128, 8, 4, 256, 576, 1024, 1};

int64_t default_size(size_t axis, size_t rank, ShapePoint point, int attempt) {
  if (axis == 0) return 1;
  const bool image_side = rank >= 4 && axis >= 2, small = point == ShapePoint::kMin;
  const Sizes& sizes = image_side ? (small ? kSmallImages : kUsualImages) : (small ? kSmallSizes : kUsualSizes);
  return sizes[static_cast<size_t>(attempt)];
}

}  // namespace

Result<std::vector<ShapeHint>> parse_shape_hints(std::string_view text) {
  std::vector<ShapeHint> hints;
  for (const std::string_view part : split(text, ',')) hints.push_back(TUTTI_TRY(parse_hint(part)));
  return hints;
}

Status bind_shape(const std::string& input, const ValueType& type, const Dims& dims, SymbolValues& symbols) {
  if (!type.shape) return {};
  const auto mismatch = [&](std::string_view expected) {
    return make_error(Code::kInvalidInput, "input '{}': found shape {}, expected {}{}", input, dims_text(dims),
                      shape_text(*type.shape), expected);
  };
  if (dims.size() != type.shape->size())
    return mismatch(fmt::format(" (rank {}, found rank {})", type.shape->size(), dims.size()));
  for (size_t i = 0; i < dims.size(); ++i) {
    const Dim& declared = (*type.shape)[i];
    if (dims[i] < 0) return mismatch("");
    if (declared.is_constant()) {
      if (!declared.is(dims[i])) return mismatch(fmt::format(" (dimension {} is fixed to {})", i, declared.text()));
    } else if (const auto name = declared.symbol_name()) {
      const auto [bound, inserted] = symbols.emplace(*name, dims[i]);
      if (!inserted && bound->second != dims[i])
        return mismatch(fmt::format(" (dimension {}: '{}' is {} in another place)", i, *name, bound->second));
    }
  }
  return {};
}

Result<std::vector<Dims>> resolve_input_shapes(const Graph& graph, std::span<const ShapeHint> hints, ShapePoint point,
                                               int attempt) {
  SymbolValues symbols;
  std::map<std::string, Dims, std::less<>> given;
  for (const ShapeHint& hint : hints) {
    const Port* port = TUTTI_TRY(hinted_port(graph, hint));
    const Dims& dims = point == ShapePoint::kMin ? hint.min : point == ShapePoint::kMax ? hint.max : hint.typical;
    TUTTI_TRY(bind_shape(port->name, graph.value(port->value).type, dims, symbols));
    given[port->name] = dims;
  }
  std::vector<Dims> shapes;
  for (const Port& port : graph.inputs()) {
    const auto found = given.find(port.name);
    if (found != given.end()) {
      shapes.push_back(found->second);
      continue;
    }
    const ValueType& type = graph.value(port.value).type;
    if (!type.shape)
      return Error(Code::kInvalidInput,
                   fmt::format("input '{}': found no rank in the model, expected a shape", port.name),
                   fmt::format("give --shapes {}=...", port.name));
    Dims dims;
    for (size_t i = 0; i < type.shape->size(); ++i) {
      const Dim& declared = (*type.shape)[i];
      if (const auto name = declared.symbol_name())
        symbols.emplace(*name, default_size(i, type.shape->size(), point, attempt));
      const auto value = declared.evaluate(symbols);
      if (!value)
        return make_error(Code::kInvalidInput, "input '{}': dimension {} is '{}', expected a number or a symbol",
                          port.name, i, declared.text());
      dims.push_back(*value);
    }
    shapes.push_back(std::move(dims));
  }
  return shapes;
}

}  // namespace tutti::ir
