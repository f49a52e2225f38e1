#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include "ir/content_hash.h"
#include "ir/op_def.h"
#include "ir/text.h"

namespace tutti::ir {
namespace {

bool is_plain_name(std::string_view name) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$' || c == '/' || c == ':' ||
           c == '-';
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), plain);
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += fmt::format("\\{}", c);
    else if (byte < 32 || byte > 126)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  return out + "\"";
}

std::string element_text(const Tensor& tensor, int64_t i) {
  switch (tensor.dtype()) {
    case DType::kString: return quoted(tensor.string_data()[static_cast<size_t>(i)]);
    case DType::kFloat64: return fmt::format("{}", tensor.get_double(i));
    case DType::kUInt64: return fmt::format("{}", static_cast<uint64_t>(tensor.get_int(i)));
    default: break;
  }
  if (is_floating(tensor.dtype())) return fmt::format("{}", static_cast<float>(tensor.get_double(i)));
  return fmt::format("{}", tensor.get_int(i));
}

bool is_splat(const Tensor& tensor) {
  if (tensor.dtype() == DType::kString || dtype_bits(tensor.dtype()) < 8 || tensor.size() < 2) return false;
  const size_t width = static_cast<size_t>(dtype_bits(tensor.dtype())) / 8;
  const char* bytes = static_cast<const char*>(tensor.raw());
  return std::equal(bytes + width, bytes + tensor.size_bytes(), bytes);
}

class Printer {
 public:
  explicit Printer(const TextOptions& options) : options_(options) {}

  void graph(const Graph& graph, std::string_view keyword, int depth) {
    name_values(graph);
    text += keyword;
    text += '(';
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      const Port& port = graph.inputs()[i];
      text += fmt::format("{}{}: {}", i ? ", " : "", name(port.value), graph.value(port.value).type.text());
      if (port.name != graph.value(port.value).name) text += " as " + quoted(port.name);
    }
    text += ") {\n";
    symbols(graph, depth + 1);
    for (ValueId id = 0; id < graph.value_capacity(); ++id)
      if (graph.value(id).alive && graph.value(id).is_constant()) constant(graph, id, depth + 1);
    for (NodeId id = graph.first_node(); id != kNoNode; id = graph.next_node(id)) node(graph, id, depth + 1);
    indent(depth + 1);
    text += "return";
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      const Port& port = graph.outputs()[i];
      text += fmt::format("{} {}", i ? "," : "", name(port.value));
      if (port.name != graph.value(port.value).name) text += " as " + quoted(port.name);
    }
    text += '\n';
    indent(depth);
    text += '}';
  }

  std::string text;

 private:
  void indent(int depth) { text.append(static_cast<size_t>(depth) * 2, ' '); }

  // Names are made unique in the text: the value's own, or with its id where another live value has it.
  void name_values(const Graph& graph) {
    names_.assign(static_cast<size_t>(graph.value_capacity()), "");
    std::set<std::string> taken;
    for (ValueId id = 0; id < graph.value_capacity(); ++id) {
      const Value& value = graph.value(id);
      if (!value.alive) continue;
      std::string chosen = value.name.empty() ? fmt::format("{}", id) : value.name;
      while (!taken.insert(chosen).second) chosen += fmt::format("${}", id);
      names_[static_cast<size_t>(id)] = is_plain_name(chosen) ? "%" + chosen : "%" + quoted(chosen);
    }
  }
  std::string name(ValueId id) const { return id == kNoValue ? std::string("none") : names_[static_cast<size_t>(id)]; }

  void symbols(const Graph& graph, int depth) {
    for (const auto& [symbol, range] : graph.symbols()) {
      if (range.min == 0 && range.max == INT64_MAX) continue;
      indent(depth);
      text += range.max == INT64_MAX ? fmt::format("symbol {}: {}..\n", symbol, range.min)
                                     : fmt::format("symbol {}: {}..{}\n", symbol, range.min, range.max);
    }
  }

  void constant(const Graph& graph, ValueId id, int depth) {
    const Tensor& tensor = graph.value(id).constant;
    indent(depth);
    text += fmt::format("{}: {} = ", name(id), tensor.type_text());
    const bool complex = is_complex(tensor.dtype());
    if (options_.inline_constants && !complex && tensor.size() <= options_.inline_limit) {
      text += "dense [";
      for (int64_t i = 0; i < tensor.size(); ++i) text += (i ? ", " : "") + element_text(tensor, i);
      text += "]\n";
    } else if (options_.inline_constants && !complex && is_splat(tensor)) {
      text += fmt::format("splat {}\n", element_text(tensor, 0));
    } else {
      text += fmt::format("dense<{:016x}>\n", content_hash(tensor));
    }
  }

  void node(const Graph& graph, NodeId id, int depth) {
    const Node& node = graph.node(id);
    indent(depth);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId out = node.outputs[i];
      text += i ? ", " : "";
      text += out == kNoValue ? std::string("_") : fmt::format("{}: {}", name(out), graph.value(out).type.text());
    }
    text += fmt::format(" = {}(", node.op->name);
    for (size_t i = 0; i < node.inputs.size(); ++i) text += (i ? ", " : "") + name(node.inputs[i]);
    text += ')';
    const std::string attrs = attributes(node);
    if (!attrs.empty()) text += " " + attrs;
    if (options_.origins) node_names(node);
    for (const auto& body : node.bodies) {
      text += ' ';
      Printer inner(options_);
      inner.graph(*body, "body", depth);
      text += inner.text;
    }
    text += '\n';
  }

  std::string attributes(const Node& node) {
    if (node.attrs.empty() || !node.op->make_attrs) return "";
    auto [at, missing] = defaults_.try_emplace(node.op);
    if (missing) at->second = Attrs(node.op->make_attrs());
    return node.attrs.text(&at->second);
  }

  void node_names(const Node& node) {
    if (!node.name.empty()) text += " @" + quoted(node.name);
    for (size_t i = 0; i < node.origins.size(); ++i) text += (i ? ", " : " from ") + quoted(node.origins[i]);
  }

  const TextOptions& options_;
  std::vector<std::string> names_;
  std::unordered_map<const OpDef*, Attrs> defaults_;
};

}  // namespace

std::string print_graph(const Graph& graph, const TextOptions& options) {
  Printer printer(options);
  printer.graph(graph, graph.name.empty() ? std::string("graph") : "graph " + quoted(graph.name), 0);
  return std::move(printer.text) + "\n";
}

}  // namespace tutti::ir
