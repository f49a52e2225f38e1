#include "onnx/graph_importer.h"

#include <algorithm>

#include "ir/op_def.h"

namespace tutti::onnx {
namespace {

using ir::kNoValue;
using ir::ValueId;

// Stands for a node that cannot be imported. Never leaves the importer: such a graph is thrown away.
const ir::OpDef kPlaceholder{
    .name = "onnx.Unsupported", .max_inputs = ir::kAnyCount, .min_outputs = 0, .max_outputs = ir::kAnyCount};

std::string normal_domain(const std::string& domain) { return domain == "ai.onnx" ? std::string() : domain; }

std::string describe(const pb::NodeProto& node, const Frame& frame) {
  return fmt::format("node '{}{}' ({})", frame.prefix,
                     node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name(), node.op_type());
}

}  // namespace

std::string function_key(const std::string& domain, const std::string& name, const std::string& overload) {
  return fmt::format("{}\n{}\n{}", normal_domain(domain), name, overload);
}

Opsets read_opsets(const google::protobuf::RepeatedPtrField<pb::OperatorSetIdProto>& imports) {
  Opsets out;
  for (const auto& import : imports) out[normal_domain(import.domain())] = import.version();
  return out;
}

void Session::record(Error error) {
  if (!first_error) first_error = std::move(error);
}

void Session::warn(std::string text) {
  constexpr size_t kMostWarnings = 1000;
  if (report.warnings.size() < kMostWarnings) report.warnings.push_back(std::move(text));
}

TensorReadOptions GraphImporter::tensor_options(const Frame& frame) {
  return {.external = &session_.external,
          .take_data = frame.bindings == nullptr,
          .max_expanded_bytes = session_.options.max_expanded_bytes};
}

void GraphImporter::taint(ValueId value) {
  if (tainted_.size() <= static_cast<size_t>(value)) tainted_.resize(static_cast<size_t>(value) + 1);
  tainted_[static_cast<size_t>(value)] = true;
  any_tainted_ = true;
}

Status GraphImporter::add_inputs(pb::GraphProto& proto, Frame& frame) {
  std::unordered_map<std::string_view, bool> initialized;
  for (const auto& tensor : proto.initializer()) initialized[tensor.name()] = true;
  for (const auto& tensor : proto.sparse_initializer()) initialized[tensor.values().name()] = true;
  for (const pb::ValueInfoProto& input : proto.input()) {
    if (initialized.contains(input.name()) && !session_.options.overridable_initializers) continue;
    ir::ValueType type = TUTTI_TRY(session_.types.read(input.type(), graph_, input.name())
                                       .with_context(fmt::format("graph input '{}'", input.name())));
    if (frame.scope->contains(input.name()) || input.name().empty())
      return make_error(Code::kInvalidModel, "graph input '{}': found the name twice or empty, expected distinct names",
                        input.name());
    frame.scope->emplace(input.name(), graph_.add_input(input.name(), std::move(type)));
  }
  return {};
}

Status GraphImporter::add_initializers(pb::GraphProto& proto, Frame& frame) {
  const auto add = [&](const std::string& name, Result<ir::Tensor> tensor) -> Status {
    if (!tensor.ok()) return tensor.take_error();
    if (name.empty() ||
        !frame.scope->emplace(name, graph_.add_constant(frame.prefix + name, std::move(tensor).value())).second)
      return make_error(Code::kInvalidModel, "initializer '{}': found the name twice or empty, expected distinct names",
                        name);
    return {};
  };
  for (pb::TensorProto& tensor : *proto.mutable_initializer())
    if (!frame.scope->contains(tensor.name()) || graph_.value(frame.scope->at(tensor.name())).is_constant())
      TUTTI_TRY(add(tensor.name(), read_tensor(tensor, tensor_options(frame))));
  for (pb::SparseTensorProto& tensor : *proto.mutable_sparse_initializer())
    TUTTI_TRY(add(tensor.values().name(), read_sparse_tensor(tensor, tensor_options(frame))));
  return {};
}

void GraphImporter::check_output_type(const pb::ValueInfoProto& declared, ValueId value) {
  if (!declared.type().has_tensor_type() || is_tainted(value)) return;
  const ir::ValueType& inferred = graph_.value(value).type;
  const auto& tensor = declared.type().tensor_type();
  if (tensor.elem_type() != 0 && inferred.dtype != ir::DType::kUndefined &&
      tensor.elem_type() != static_cast<int>(inferred.dtype))
    session_.warn(fmt::format("graph output '{}': the file says element type {}, but it is {}", declared.name(),
                              tensor.elem_type(), inferred.text()));
  else if (tensor.has_shape() && inferred.has_rank() && tensor.shape().dim_size() != inferred.rank())
    session_.warn(fmt::format("graph output '{}': the file says rank {}, but it is {}", declared.name(),
                              tensor.shape().dim_size(), inferred.text()));
}

void GraphImporter::add_outputs(const pb::GraphProto& proto, const Frame& frame, const std::string& what) {
  for (const pb::ValueInfoProto& output : proto.output()) {
    const auto found = frame.scope->find(output.name());
    if (found == frame.scope->end()) {
      session_.record(
          make_error(Code::kInvalidModel,
                     "{} '{}': found no value of this name, expected one made by a node, an input or an initializer",
                     what, output.name()));
      any_tainted_ = true;
      continue;
    }
    graph_.add_output(output.name(), found->second);
    check_output_type(output, found->second);
    any_tainted_ = any_tainted_ || is_tainted(found->second);
  }
}

Status GraphImporter::import_main(pb::GraphProto& proto, Frame frame) {
  TUTTI_TRY(add_inputs(proto, frame));
  TUTTI_TRY(add_initializers(proto, frame));
  TUTTI_TRY(import_nodes(*proto.mutable_node(), frame));
  add_outputs(proto, frame, "graph output");
  return {};
}

Status GraphImporter::import_body(pb::GraphProto& proto, const Frame& outer, const ir::Graph& outer_graph,
                                  const std::vector<ir::ValueType>& own_inputs, const std::vector<Capture>& captures,
                                  const std::vector<bool>& outer_tainted) {
  if (outer.depth >= session_.options.max_nesting)
    return make_error(Code::kLimit, "found bodies and functions nested deeper than {}", session_.options.max_nesting);
  if (proto.input_size() != static_cast<int>(own_inputs.size()))
    return make_error(Code::kInvalidModel, "found {} inputs, expected {}", proto.input_size(), own_inputs.size());
  graph_.name = proto.name();
  graph_.symbols() = outer_graph.symbols();
  Scope scope;
  Frame frame{&scope, outer.opsets, outer.bindings, outer.prefix, outer.depth + 1};
  for (int i = 0; i < proto.input_size(); ++i) {
    const ValueId id = graph_.add_input(proto.input(i).name(), own_inputs[static_cast<size_t>(i)]);
    if (own_inputs[static_cast<size_t>(i)].dtype == ir::DType::kUndefined) taint(id);
    if (!scope.emplace(proto.input(i).name(), id).second)
      return make_error(Code::kInvalidModel, "input '{}': found the name twice, expected distinct names",
                        proto.input(i).name());
  }
  for (const Capture& capture : captures) {
    const ir::Value& value = outer_graph.value(capture.outer);
    const ValueId id = value.is_constant() ? graph_.add_constant(capture.name, value.constant)
                                           : graph_.add_input(capture.name, value.type);
    if (static_cast<size_t>(capture.outer) < outer_tainted.size() && outer_tainted[static_cast<size_t>(capture.outer)])
      taint(id);
    scope.emplace(capture.name, id);
  }
  TUTTI_TRY(add_initializers(proto, frame));
  TUTTI_TRY(import_nodes(*proto.mutable_node(), frame));
  add_outputs(proto, frame, "body output");
  return {};
}

Result<std::vector<ValueId>> GraphImporter::inline_graph(pb::GraphProto& proto, const Frame& outer,
                                                         const std::string& prefix,
                                                         const std::vector<ValueId>& inputs) {
  if (outer.depth >= session_.options.max_nesting)
    return make_error(Code::kLimit, "found bodies and functions nested deeper than {}", session_.options.max_nesting);
  if (proto.input_size() != static_cast<int>(inputs.size()))
    return make_error(Code::kInvalidModel, "found {} inputs, expected {}", proto.input_size(), inputs.size());
  Scope scope;
  for (int i = 0; i < proto.input_size(); ++i) scope[proto.input(i).name()] = inputs[static_cast<size_t>(i)];
  for (const std::string& name : session_.free_names.of(proto))
    if (const auto found = outer.scope->find(name); found != outer.scope->end()) scope.emplace(name, found->second);
  Frame frame{&scope, outer.opsets, outer.bindings, prefix, outer.depth + 1};
  TUTTI_TRY(add_initializers(proto, frame));
  TUTTI_TRY(import_nodes(*proto.mutable_node(), frame));
  std::vector<ValueId> outputs;
  for (const pb::ValueInfoProto& output : proto.output()) {
    const auto made = scope.find(output.name());
    if (made == scope.end())
      return make_error(Code::kInvalidModel, "output '{}': found nothing that makes it", output.name());
    outputs.push_back(made->second);
  }
  return outputs;
}

Status GraphImporter::import_nodes(Nodes& nodes, const Frame& frame) {
  for (const int index : TUTTI_TRY(execution_order(nodes, session_.free_names)))
    TUTTI_TRY(import_node(*nodes.Mutable(index), frame));
  return {};
}

std::vector<ValueId> GraphImporter::resolve_inputs(const pb::NodeProto& node, const Frame& frame, bool& tainted) {
  std::vector<ValueId> out;
  for (int i = 0; i < node.input_size(); ++i) {
    const auto found = node.input(i).empty() ? frame.scope->end() : frame.scope->find(node.input(i));
    out.push_back(found == frame.scope->end() ? kNoValue : found->second);
    if (out.back() != kNoValue) {
      tainted = tainted || is_tainted(out.back());
    } else if (!node.input(i).empty() && found == frame.scope->end()) {
      tainted = true;
      session_.record(
          make_error(Code::kInvalidModel, "input {}: found the name '{}', which nothing defines", i, node.input(i))
              .with_context(describe(node, frame)));
    }
  }
  while (!out.empty() && out.back() == kNoValue) out.pop_back();
  return out;
}

void GraphImporter::add_placeholder(const pb::NodeProto& node, const Frame& frame) {
  std::vector<std::string> names;
  for (const std::string& name : node.output())
    if (!name.empty()) names.push_back(name);
  const ir::NodeId id = graph_.add_node({.op = &kPlaceholder, .output_names = names});
  for (size_t i = 0; i < names.size(); ++i) {
    const ValueId value = graph_.node(id).outputs[i];
    (*frame.scope)[names[i]] = value;
    taint(value);
  }
}

Status GraphImporter::import_node(pb::NodeProto& node, const Frame& frame) {
  if (++session_.report.node_count > session_.options.max_nodes)
    return make_error(Code::kLimit, "found more than {} nodes after inlining functions", session_.options.max_nodes);
  for (const std::string& name : node.output())
    if (!name.empty() && frame.scope->contains(name))
      return make_error(Code::kInvalidModel,
                        "output '{}': found the name of an input or initializer, expected a new one", name)
          .with_context(describe(node, frame));
  bool tainted = false;
  std::vector<ValueId> inputs = resolve_inputs(node, frame, tainted);
  const auto function = session_.functions.find(function_key(node.domain(), node.op_type(), node.overload()));
  if (function != session_.functions.end())
    return inline_function(*function->second, node, frame, inputs).with_context(describe(node, frame));

  const std::string domain = normal_domain(node.domain());
  const auto opset = frame.opsets->find(domain);
  const int64_t version = opset != frame.opsets->end() ? opset->second : domain.empty() ? kNewestOpset : 1;
  const OperatorMap::Found found = session_.operators.find(domain, node.op_type(), version);
  Status status = found.row ? convert(*found.row, {this, &frame, &node, version, std::move(inputs), {}}, tainted)
                            : Status(Error(Code::kUnsupported, found.reason, found.hint));
  if (tainted) add_placeholder(node, frame);
  if (status.ok()) return {};
  if (!tainted) add_placeholder(node, frame);
  const Code code = status.error().code();
  if (code == Code::kLimit) return status.take_error().with_context(describe(node, frame));
  if (code == Code::kUnsupported)
    session_.report.unsupported.push_back({frame.prefix + node.name(), node.op_type(),
                                           domain.empty() ? "ai.onnx" : domain, version, status.error().text(),
                                           status.error().hint()});
  else if (!tainted)
    session_.record(status.take_error().with_context(describe(node, frame)));
  return {};
}

Status GraphImporter::convert(const MapRow& row, NodeBuilder::Setup setup, bool& tainted) {
  setup.attrs = TUTTI_TRY(AttrMap::read(*setup.node, setup.frame->bindings));
  const auto has_body = [](const auto& entry) { return std::holds_alternative<pb::GraphProto*>(entry.second); };
  // Types of what follows an unsupported node mean nothing; but operator, attributes and bodies are still checked for
  // more of them.
  const bool body = std::any_of(setup.attrs.entries().begin(), setup.attrs.entries().end(), has_body);
  if (tainted && !body && row.build != direct) return {};
  NodeBuilder builder(std::move(setup), tainted);
  Status status = row.build(builder);
  tainted = builder.tainted();
  return status;
}

Status GraphImporter::bind_function(pb::FunctionProto& function, pb::NodeProto& call, const Frame& frame,
                                    AttrMap& bindings) {
  for (pb::AttributeProto& fallback : *function.mutable_attribute_proto()) TUTTI_TRY(bindings.add(fallback));
  const AttrMap given = TUTTI_TRY(AttrMap::read(call, frame.bindings));
  for (const auto& [name, value] : given.entries()) {
    if (std::holds_alternative<pb::GraphProto*>(value))
      return make_error(Code::kUnsupported, "attribute '{}': found a graph given to a function", name);
    bindings.set(name, value);
  }
  return {};
}

Status GraphImporter::inline_function(pb::FunctionProto& function, pb::NodeProto& call, const Frame& frame,
                                      const std::vector<ValueId>& inputs) {
  if (frame.depth >= session_.options.max_nesting)
    return make_error(Code::kLimit, "found functions and bodies nested deeper than {}", session_.options.max_nesting)
        .with_hint("a function that calls itself cannot be inlined");
  if (static_cast<int>(inputs.size()) > function.input_size())
    return make_error(Code::kInvalidModel, "found {} inputs, expected at most {}", inputs.size(),
                      function.input_size());
  AttrMap bindings;
  TUTTI_TRY(bind_function(function, call, frame, bindings));
  const Opsets own_opsets = read_opsets(function.opset_import());
  Scope scope;
  for (int i = 0; i < function.input_size(); ++i)
    scope.emplace(function.input(i), i < static_cast<int>(inputs.size()) ? inputs[static_cast<size_t>(i)] : kNoValue);
  const std::string name = call.name().empty() ? function.name() : call.name();
  const Frame inner{&scope, own_opsets.empty() ? frame.opsets : &own_opsets, &bindings,
                    fmt::format("{}{}.{}/", frame.prefix, name, session_.calls++), frame.depth + 1};
  TUTTI_TRY(import_nodes(*function.mutable_node(), inner));
  for (int i = 0; i < call.output_size(); ++i) {
    if (call.output(i).empty()) continue;
    const auto made = i < function.output_size() ? scope.find(function.output(i)) : scope.end();
    if (made == scope.end())
      return make_error(Code::kInvalidModel, "output {} ('{}'): found nothing that makes it in the function", i,
                        call.output(i));
    (*frame.scope)[call.output(i)] = made->second;
  }
  return {};
}

}  // namespace tutti::onnx
