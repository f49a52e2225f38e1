#include "onnx/node_builder.h"

#include <algorithm>

#include "ir/infer.h"
#include "onnx/graph_importer.h"
#include "ops/op_list.h"

namespace tutti::onnx {
namespace {

using ir::kNoValue;
using ir::ValueId;

Result<ir::Attrs> make_attrs(const ir::OpDef& op, const AttrMap& attributes) {
  ir::Attrs out;
  if (op.make_attrs) out = ir::Attrs(op.make_attrs());
  TUTTI_TRY(attributes.fill(out));
  return out;
}

Result<const ir::OpDef*> find_op(std::string_view name) {
  if (const ir::OpDef* op = ops::find_op(name)) return op;
  return make_error(Code::kUnsupported, "the operator {} is not implemented", name);
}

// Operators with any number of inputs have no optional ones, but for the first two of Loop.
Status check_present(const ir::OpDef& op, const std::vector<ValueId>& inputs) {
  if (op.max_inputs < ir::kAnyCount) return {};
  for (size_t i = op.name == "Loop" ? 2 : 0; i < inputs.size(); ++i)
    if (inputs[i] == kNoValue) return make_error(Code::kInvalidModel, "input {}: found none, expected a value", i);
  return {};
}

void trim_absent(std::vector<ValueId>& inputs, int keep) {
  while (static_cast<int>(inputs.size()) > keep && inputs.back() == kNoValue) inputs.pop_back();
}

}  // namespace

ir::Graph& NodeBuilder::graph() const { return setup_.importer->graph(); }
const ir::ValueType& NodeBuilder::type(ValueId value) const { return graph().value(value).type; }

int NodeBuilder::output_count() const {
  int count = setup_.node->output_size();
  while (count > 0 && setup_.node->output(count - 1).empty()) --count;
  return count;
}

bool NodeBuilder::wants_output(int i) const {
  return i < setup_.node->output_size() && !setup_.node->output(i).empty();
}

Result<int64_t> NodeBuilder::known_rank(int i) const {
  if (has_input(i) && input_type(i).has_rank()) return input_type(i).rank();
  return make_error(Code::kUnsupported, "input {}: found an unknown rank, and version {} of the operator set needs it",
                    i, opset())
      .with_hint("convert the model to opset 13 or newer");
}

const ir::Tensor* NodeBuilder::constant(int i) const {
  return has_input(i) && graph().value(input(i)).is_constant() ? &graph().value(input(i)).constant : nullptr;
}

ValueId NodeBuilder::add_constant(ir::Tensor tensor) {
  return graph().add_constant(graph().unique_name("constant"), std::move(tensor));
}

ValueId NodeBuilder::ints(std::vector<int64_t> values) {
  return add_constant(
      ir::Tensor::from<int64_t>({static_cast<int64_t>(values.size())}, std::span<const int64_t>(values)));
}

ValueId NodeBuilder::number(ir::DType dtype, double value) {
  ir::Tensor out = ir::Tensor::zeros(dtype, {});
  out.set_double(0, value);
  return add_constant(std::move(out));
}

Status NodeBuilder::require_inputs(std::initializer_list<int> required) const {
  for (const int i : required)
    if (!has_input(i)) return make_error(Code::kInvalidModel, "input {}: found none, expected a value", i);
  return {};
}

Result<ValueId> NodeBuilder::cast(ValueId x, ir::DType dtype) {
  if (x != ir::kNoValue && type(x).dtype == dtype) return x;
  return add("Cast", {x}, {{"to", static_cast<int64_t>(dtype)}});
}

Result<ValueId> NodeBuilder::add(std::string_view op_name, std::vector<ValueId> inputs, const AttrMap& attributes) {
  return TUTTI_TRY(add_many(op_name, std::move(inputs), attributes, 1))[0];
}

Result<std::vector<ValueId>> NodeBuilder::add_many(std::string_view op_name, std::vector<ValueId> inputs,
                                                   const AttrMap& attributes, int outputs) {
  const ir::OpDef* op = TUTTI_TRY(find_op(op_name));
  const std::string name = setup_.frame->prefix + setup_.node->name();
  ir::NodeSpec spec{.op = op, .attrs = TUTTI_TRY(make_attrs(*op, attributes)), .inputs = std::move(inputs)};
  trim_absent(spec.inputs, op->min_inputs);
  spec.name = graph().unique_name(fmt::format("{}/{}", name, op_name));
  for (int i = 0; i < outputs; ++i) spec.output_names.push_back(i == 0 ? spec.name : graph().unique_name(spec.name));
  spec.origins = {name};
  const ir::NodeId id = graph().add_node(std::move(spec));
  TUTTI_TRY(ir::infer_node(graph(), id));
  return graph().node(id).outputs;
}

Status NodeBuilder::finish(std::string_view op_name, std::vector<ValueId> inputs, const AttrMap& attributes,
                           std::vector<std::unique_ptr<ir::Graph>> bodies, int min_outputs) {
  const ir::OpDef* op = TUTTI_TRY(find_op(op_name));
  ir::NodeSpec spec{.op = op,
                    .attrs = TUTTI_TRY(make_attrs(*op, attributes)),
                    .inputs = std::move(inputs),
                    .bodies = std::move(bodies)};
  if (tainted_) return {};
  trim_absent(spec.inputs, op->min_inputs);
  TUTTI_TRY(check_present(*op, spec.inputs));
  const int outputs = std::max({output_count(), op->min_outputs, min_outputs});
  for (int i = 0; i < outputs; ++i)
    spec.output_names.push_back(wants_output(i) ? setup_.frame->prefix + setup_.node->output(i) : "");
  spec.name = setup_.node->name().empty() ? graph().unique_name(op_type()) : setup_.frame->prefix + setup_.node->name();
  spec.origins = {spec.name};
  const ir::NodeId id = graph().add_node(std::move(spec));
  for (int i = 0; i < setup_.node->output_size(); ++i)
    if (wants_output(i)) set_output(i, graph().node(id).outputs[static_cast<size_t>(i)]);
  return ir::infer_node(graph(), id);
}

void NodeBuilder::set_output(int i, ValueId value) {
  if (wants_output(i)) (*setup_.frame->scope)[setup_.node->output(i)] = value;
}

Result<ir::Tensor> NodeBuilder::read_tensor(pb::TensorProto& proto) const {
  return onnx::read_tensor(proto, setup_.importer->tensor_options(*setup_.frame));
}

Result<ir::Tensor> NodeBuilder::read_sparse_tensor(pb::SparseTensorProto& proto) const {
  return onnx::read_sparse_tensor(proto, setup_.importer->tensor_options(*setup_.frame));
}

Result<ir::ValueType> NodeBuilder::read_type(const pb::TypeProto& proto) const {
  return setup_.importer->session().types.read(proto, graph(), setup_.node->name());
}

Result<pb::GraphProto*> NodeBuilder::graph_attribute(std::string_view attribute) const {
  if (const auto found = attrs.get<pb::GraphProto*>(attribute)) return *found;
  return make_error(Code::kInvalidModel, "attribute '{}': found none, expected a graph", attribute);
}

Result<int> NodeBuilder::body_input_count(std::string_view attribute) const {
  return TUTTI_TRY(graph_attribute(attribute))->input_size();
}

Result<std::vector<Capture>> NodeBuilder::find_captures(std::initializer_list<std::string_view> attributes) const {
  std::vector<Capture> out;
  for (const std::string_view attribute : attributes) {
    for (const std::string& name : setup_.importer->session().free_names.of(*TUTTI_TRY(graph_attribute(attribute)))) {
      const auto known = std::find_if(out.begin(), out.end(), [&](const Capture& c) { return c.name == name; });
      if (known != out.end()) continue;
      const auto outer = setup_.frame->scope->find(name);
      if (outer == setup_.frame->scope->end())
        return make_error(Code::kInvalidModel,
                          "body '{}': found a use of '{}', which neither the body nor the graph around it defines",
                          attribute, name);
      out.push_back({name, outer->second});
    }
  }
  return out;
}

std::vector<ValueId> NodeBuilder::capture_inputs(const std::vector<Capture>& captures) const {
  std::vector<ValueId> out;
  for (const Capture& capture : captures)
    if (!graph().value(capture.outer).is_constant()) out.push_back(capture.outer);
  return out;
}

Result<std::unique_ptr<ir::Graph>> NodeBuilder::body(std::string_view attribute,
                                                     const std::vector<ir::ValueType>& own_inputs,
                                                     const std::vector<Capture>& captures) {
  auto out = std::make_unique<ir::Graph>();
  GraphImporter importer(setup_.importer->session(), *out);
  TUTTI_TRY(importer
                .import_body(*TUTTI_TRY(graph_attribute(attribute)), *setup_.frame, graph(), own_inputs, captures,
                             setup_.importer->tainted())
                .with_context(fmt::format("body '{}'", attribute)));
  tainted_ = tainted_ || importer.any_tainted();
  return out;
}

Result<std::vector<ValueId>> NodeBuilder::inline_body(std::string_view attribute, const std::vector<ValueId>& inputs) {
  const std::string prefix = setup_.frame->prefix + setup_.node->name() + "/" + std::string(attribute) + "/";
  auto outputs =
      TUTTI_TRY(setup_.importer->inline_graph(*TUTTI_TRY(graph_attribute(attribute)), *setup_.frame, prefix, inputs)
                    .with_context(fmt::format("body '{}'", attribute)));
  for (const ValueId value : outputs) tainted_ = tainted_ || setup_.importer->is_tainted(value);
  return outputs;
}

ir::ValueType NodeBuilder::loosened(const ir::ValueType& type, ir::Graph& target) const {
  ir::ValueType out = type;
  if (!out.shape) return out;
  for (ir::Dim& dim : *out.shape) dim = target.fresh_symbol("carried");
  return out;
}

}  // namespace tutti::onnx
