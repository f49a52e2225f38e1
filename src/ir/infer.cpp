#include "ir/infer.h"

namespace tutti::ir {
namespace {

constexpr int64_t kMaxDimsValue = 1024;  // shape arithmetic is about a handful of numbers

Status check_count(std::string_view what, int found, int min, int max) {
  if (found >= min && found <= max) return {};
  const std::string expected = min == max         ? std::to_string(min)
                               : max >= kAnyCount ? fmt::format("{} or more", min)
                                                  : fmt::format("{} to {}", min, max);
  return make_error(Code::kInvalidModel, "{}: found {}, expected {}", what, found, expected);
}

Status check_arity(const Node& node) {
  const OpDef& op = *node.op;
  TUTTI_TRY(check_count("inputs", static_cast<int>(node.inputs.size()), op.min_inputs, op.max_inputs));
  TUTTI_TRY(check_count("outputs", static_cast<int>(node.outputs.size()), op.min_outputs, op.max_outputs));
  TUTTI_TRY(check_count("bodies", static_cast<int>(node.bodies.size()), op.body_count, op.body_count));
  // Elements of a variadic input are all needed; control flow has optional inputs of its own and checks them.
  const bool variadic = op.max_inputs >= kAnyCount;
  const auto required = variadic ? node.inputs.size() : static_cast<size_t>(op.min_inputs);
  for (size_t i = 0; i < required && !op.has(kControl); ++i)
    if (node.inputs[i] == kNoValue) return make_error(Code::kInvalidModel, "input {}: found none, expected a value", i);
  return {};
}

}  // namespace

const Tensor* InferContext::constant(int i) const {
  return has_input(i) && value_of(i).is_constant() ? &value_of(i).constant : nullptr;
}

std::optional<std::vector<Dim>> InferContext::dims_value(int i) const {
  if (!has_input(i)) return std::nullopt;
  const Value& value = value_of(i);
  if (value.dims_value) return value.dims_value;
  if (!value.is_constant() || value.constant.rank() > 1 || value.constant.size() > kMaxDimsValue) return std::nullopt;
  if (!is_integer(value.constant.dtype()) && value.constant.dtype() != DType::kBool) return std::nullopt;
  std::vector<Dim> out;
  for (int64_t k = 0; k < value.constant.size(); ++k) out.emplace_back(value.constant.get_int(k));
  return out;
}

std::optional<std::vector<int64_t>> InferContext::ints_value(int i) const {
  const Tensor* known = constant(i);
  if (known && known->rank() <= 1 && (is_integer(known->dtype()) || known->dtype() == DType::kBool))
    return known->to_int64();
  const auto dims = dims_value(i);
  return dims ? to_dims(*dims) : std::nullopt;
}

void InferContext::set_output(int i, ValueType type) {
  if (wants_output(i)) graph_.value(node().outputs[static_cast<size_t>(i)]).type = std::move(type);
}

void InferContext::set_dims_value(int i, std::vector<Dim> value) {
  if (wants_output(i) && value.size() <= static_cast<size_t>(kMaxDimsValue))
    graph_.value(node().outputs[static_cast<size_t>(i)]).dims_value = std::move(value);
}

Result<std::vector<ValueType>> InferContext::infer_body(int i, std::span<const ValueType> inputs) {
  Graph& body = *graph_.node(node_id_).bodies[static_cast<size_t>(i)];
  if (body.inputs().size() != inputs.size())
    return make_error(Code::kInvalidModel, "body {}: found {} inputs, expected {}", i, body.inputs().size(),
                      inputs.size());
  for (size_t k = 0; k < inputs.size(); ++k) body.value(body.inputs()[k].value).type = inputs[k];
  for (const auto& [name, range] : graph_.symbols()) body.symbols().insert_or_assign(name, range);
  TUTTI_TRY(infer_graph(body).with_context(fmt::format("body {}", i)));
  // Symbols born in the body may appear in types outside; both graphs must know them.
  for (const auto& [name, range] : body.symbols()) graph_.symbols().emplace(name, range);
  std::vector<ValueType> out;
  for (const Port& port : body.outputs()) out.push_back(body.value(port.value).type);
  return out;
}

Result<Tensor*> EvalContext::output(int i, DType dtype, Dims dims) {
  TUTTI_TRY(checked_element_count(dims).with_context(fmt::format("output {}", i)));
  TUTTI_CHECK(i < output_count(), "output {} of {}", i, output_count());
  Datum& slot = outputs_[static_cast<size_t>(i)];
  slot = Tensor::allocate(dtype, std::move(dims));
  return &slot.tensor();
}

std::string describe_node(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  std::string types;
  for (const ValueId in : node.inputs)
    types += (types.empty() ? "" : ", ") + (in == kNoValue ? std::string("none") : graph.value(in).type.text());
  return fmt::format("node '{}' ({}) with inputs {}", node.name, node.op->name, types.empty() ? "none" : types);
}

Status infer_node(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  Status status = check_arity(node);
  if (status.ok()) {
    for (const ValueId out : node.outputs)
      if (out != kNoValue) graph.value(out).dims_value.reset();
    InferContext context(graph, id);
    status = node.op->infer(context);
  }
  if (status.ok()) return status;
  return std::move(status).with_context(describe_node(graph, id));
}

Status infer_graph(Graph& graph) {
  for (NodeId id = graph.first_node(); id != kNoNode; id = graph.next_node(id)) TUTTI_TRY(infer_node(graph, id));
  return {};
}

}  // namespace tutti::ir
