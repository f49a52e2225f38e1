#include "compile/passes/match.h"

#include <cmath>

#include "ops/op_list.h"

namespace tutti::compile {

using ir::Graph;
using ir::Node;
using ir::ValueId;

std::vector<const ir::OpDef*> ops_named(std::initializer_list<std::string_view> names) {
  std::vector<const ir::OpDef*> out;
  for (const std::string_view name : names) out.push_back(&op_named(name));
  return out;
}

const ir::OpDef& op_named(std::string_view name) {
  const ir::OpDef* op = ops::find_op(name);
  TUTTI_CHECK(op != nullptr, "a pass names the operator {}, which is not in the list", name);
  return *op;
}

bool is_op(const Node& node, std::string_view name) { return node.op->name == name; }

ValueId input_of(const Node& node, size_t i) { return i < node.inputs.size() ? node.inputs[i] : ir::kNoValue; }
bool has_input(const Node& node, size_t i) { return input_of(node, i) != ir::kNoValue; }

const Node* made_by(const Graph& graph, ValueId value, std::string_view op) {
  const Node* producer = graph.producer(value);
  return producer && is_op(*producer, op) ? producer : nullptr;
}

const ir::Tensor* constant_of(const Graph& graph, ValueId value) {
  return value != ir::kNoValue && graph.value(value).is_constant() ? &graph.value(value).constant : nullptr;
}

std::optional<double> scalar_of(const Graph& graph, ValueId value) {
  const ir::Tensor* tensor = constant_of(graph, value);
  if (!tensor || tensor->size() != 1) return std::nullopt;
  if (is_floating(tensor->dtype())) return tensor->get_double(0);
  if (is_integer(tensor->dtype())) return static_cast<double>(tensor->get_int(0));
  return std::nullopt;
}

bool is_scalar_near(const Graph& graph, ValueId value, double expected, double relative) {
  const auto found = scalar_of(graph, value);
  return found && std::abs(*found - expected) <= relative * std::abs(expected);
}

std::optional<std::vector<int64_t>> ints_of(const Graph& graph, ValueId value) {
  const ir::Tensor* tensor = constant_of(graph, value);
  if (!tensor || !is_integer(tensor->dtype())) return std::nullopt;
  return tensor->to_int64();
}

bool same_type(const Graph& graph, ValueId a, ValueId b) {
  const ir::ValueType &left = graph.value(a).type, &right = graph.value(b).type;
  return left.shape && right.shape && left == right;
}

ir::DType dtype_of(const Graph& graph, ValueId value) { return graph.value(value).type.dtype; }

std::optional<ir::Dims> static_dims_of(const Graph& graph, ValueId value) {
  return graph.value(value).type.static_dims();
}

ir::Patch forward(const Graph& graph, std::string_view name, const Node& node, ValueId value) {
  ir::Patch patch(graph, std::string(name));
  patch.replace(node.outputs[0], value);
  return patch;
}

ir::Attrs attrs_with(const ir::OpDef& op, std::initializer_list<ir::AttrField> fields) {
  Result<ir::Attrs> attrs = ir::make_attrs_of(op, fields);
  TUTTI_CHECK(attrs.ok(), "{}", attrs.error().text());
  return std::move(*attrs);
}

ir::Tensor scalar_tensor(ir::DType dtype, double value) {
  ir::Tensor tensor = ir::Tensor::allocate(dtype, {});
  tensor.set_double(0, value);
  return tensor;
}

std::optional<std::vector<int64_t>> reshape_numbers(const Graph& graph, const ir::Shape& from,
                                                    const std::vector<ir::Dim>& to) {
  std::vector<int64_t> out;
  bool inferred = false, may_be_empty = false;
  for (size_t i = 0; i < to.size(); ++i) {
    if (const auto number = to[i].constant()) {
      if (*number <= 0) return std::nullopt;
      out.push_back(*number);
    } else if (i < from.size() && from[i] == to[i]) {
      out.push_back(0);
      may_be_empty = may_be_empty || to[i].range(graph.symbols()).min < 1;
    } else {
      if (inferred) return std::nullopt;
      inferred = true;
      out.push_back(-1);
    }
  }
  // -1 next to a dim of 0 cannot be computed.
  if (inferred && may_be_empty) return std::nullopt;
  return out;
}

Result<PassStats> apply_rules(Graph& graph, std::span<const ir::Rule> rules, const PassContext& context) {
  ir::RewriteStats stats = TUTTI_TRY(ir::rewrite(graph, rules, {.patch_limit = context.patch_limit}));
  return PassStats{stats.patches, std::move(stats.by_rule)};
}

}  // namespace tutti::compile
