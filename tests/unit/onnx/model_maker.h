// Writes small models for the importer's tests.
#pragma once

#include <string>
#include <vector>

#include "onnx/import.h"
#include "onnx/proto.h"

namespace tutti::onnx {

inline std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// Fills one GraphProto (of a model or of a body).
class GraphMaker {
 public:
  explicit GraphMaker(pb::GraphProto& graph) : graph_(graph) { graph_.set_name("g"); }
  // Dims below 0 are left without a value.
  GraphMaker& input(const std::string& name, int type, std::vector<int64_t> dims) {
    set_type(*graph_.add_input(), name, type, dims);
    return *this;
  }
  GraphMaker& unranked_input(const std::string& name, int type) {
    pb::ValueInfoProto& info = *graph_.add_input();
    info.set_name(name);
    info.mutable_type()->mutable_tensor_type()->set_elem_type(type);
    return *this;
  }
  GraphMaker& output(const std::string& name) {
    graph_.add_output()->set_name(name);
    return *this;
  }
  pb::NodeProto& node(const std::string& op, std::vector<std::string> inputs, std::vector<std::string> outputs) {
    pb::NodeProto& node = *graph_.add_node();
    node.set_op_type(op);
    node.set_name(op + "_" + std::to_string(graph_.node_size() - 1));
    for (const auto& name : inputs) node.add_input(name);
    for (const auto& name : outputs) node.add_output(name);
    return node;
  }
  pb::TensorProto& initializer(const std::string& name, int type, std::vector<int64_t> dims) {
    pb::TensorProto& tensor = *graph_.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
    for (const int64_t dim : dims) tensor.add_dims(dim);
    return tensor;
  }
  GraphMaker& ints(const std::string& name, std::vector<int64_t> values) {
    pb::TensorProto& tensor = initializer(name, pb::TensorProto::INT64, {static_cast<int64_t>(values.size())});
    for (const int64_t value : values) tensor.add_int64_data(value);
    return *this;
  }
  pb::GraphProto& proto() { return graph_; }

 private:
  static void set_type(pb::ValueInfoProto& info, const std::string& name, int type, const std::vector<int64_t>& dims) {
    info.set_name(name);
    auto& tensor = *info.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    tensor.mutable_shape();
    for (const int64_t dim : dims) {
      auto& added = *tensor.mutable_shape()->add_dim();
      if (dim >= 0) added.set_dim_value(dim);
    }
  }
  pb::GraphProto& graph_;
};

inline pb::AttributeProto& attribute(pb::NodeProto& node, const std::string& name,
                                     pb::AttributeProto::AttributeType type) {
  pb::AttributeProto& out = *node.add_attribute();
  out.set_name(name);
  out.set_type(type);
  return out;
}
inline pb::NodeProto& set_int(pb::NodeProto& node, const std::string& name, int64_t value) {
  attribute(node, name, pb::AttributeProto::INT).set_i(value);
  return node;
}
inline pb::NodeProto& set_float(pb::NodeProto& node, const std::string& name, float value) {
  attribute(node, name, pb::AttributeProto::FLOAT).set_f(value);
  return node;
}
inline pb::NodeProto& set_text(pb::NodeProto& node, const std::string& name, const std::string& value) {
  attribute(node, name, pb::AttributeProto::STRING).set_s(value);
  return node;
}
inline pb::NodeProto& set_ints(pb::NodeProto& node, const std::string& name, std::vector<int64_t> values) {
  auto& added = attribute(node, name, pb::AttributeProto::INTS);
  for (const int64_t value : values) added.add_ints(value);
  return node;
}

// A model with one graph.
struct ModelMaker {
  pb::ModelProto model;
  GraphMaker graph{*model.mutable_graph()};

  explicit ModelMaker(int64_t opset) {
    model.set_ir_version(8);
    auto& imported = *model.add_opset_import();
    imported.set_version(opset);
  }
  Result<ir::Graph> import(ImportReport* report = nullptr, const ImportOptions& options = {},
                           const std::string& folder = {}) const {
    return import_model_bytes(as_bytes(model.SerializeAsString()), folder, options, report);
  }
};

constexpr int kFloat = pb::TensorProto::FLOAT, kInt64 = pb::TensorProto::INT64, kBool = pb::TensorProto::BOOL;

}  // namespace tutti::onnx
