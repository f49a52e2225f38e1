// What a conversion sees of one model node, and how it makes graph nodes from it.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ir/graph.h"
#include "onnx/attr_map.h"
#include "onnx/proto.h"

namespace tutti::onnx {

class GraphImporter;
struct Frame;

// A value of the outer graph that a body uses by name.
struct Capture {
  std::string name;
  ir::ValueId outer = ir::kNoValue;
};

// One thread at a time; lives for one conversion.
class NodeBuilder {
 public:
  struct Setup {
    GraphImporter* importer;
    const Frame* frame;
    pb::NodeProto* node;
    int64_t opset;                    // version of the node's domain
    std::vector<ir::ValueId> inputs;  // kNoValue where absent; no trailing absences
    AttrMap attrs;
  };
  NodeBuilder(Setup setup, bool tainted) : attrs(std::move(setup.attrs)), setup_(std::move(setup)), tainted_(tainted) {}

  AttrMap attrs;  // a conversion edits these and passes them on
  // An input or a body depends on a node that cannot be imported: finish() makes nothing, and types mean nothing.
  bool tainted() const { return tainted_; }

  const std::string& op_type() const { return setup_.node->op_type(); }
  int64_t opset() const { return setup_.opset; }
  int input_count() const { return static_cast<int>(setup_.inputs.size()); }
  bool has_input(int i) const { return input(i) != ir::kNoValue; }
  // kNoValue when absent.
  ir::ValueId input(int i) const { return i < input_count() ? setup_.inputs[static_cast<size_t>(i)] : ir::kNoValue; }
  const std::vector<ir::ValueId>& inputs() const { return setup_.inputs; }
  int output_count() const;  // trailing absences not counted
  bool wants_output(int i) const;
  const ir::ValueType& type(ir::ValueId value) const;
  const ir::ValueType& input_type(int i) const { return type(input(i)); }
  // The rank of an input that must be known for this conversion; kUnsupported otherwise.
  Result<int64_t> known_rank(int i) const;
  // kInvalidModel, naming the first of these inputs that is absent.
  Status require_inputs(std::initializer_list<int> required) const;
  const ir::Tensor* constant(int i) const;  // the input's value when it is a constant

  ir::ValueId add_constant(ir::Tensor tensor);
  ir::ValueId ints(std::vector<int64_t> values);
  ir::ValueId int_scalar(int64_t value) { return add_constant(ir::Tensor::scalar(value)); }
  // A scalar of any numeric type.
  ir::ValueId number(ir::DType dtype, double value);

  // An intermediate node with one output.
  Result<ir::ValueId> add(std::string_view op, std::vector<ir::ValueId> inputs, const AttrMap& attributes = {});
  // `x` as `dtype`: itself where it is that already; an error when absent.
  Result<ir::ValueId> cast(ir::ValueId x, ir::DType dtype);
  // The same as add() with several outputs.
  Result<std::vector<ir::ValueId>> add_many(std::string_view op, std::vector<ir::ValueId> inputs,
                                            const AttrMap& attributes, int outputs);
  // The node that stands for the model's node and makes its outputs (at least `min_outputs` of them, unwanted ones
  // included).
  Status finish(std::string_view op, std::vector<ir::ValueId> inputs, const AttrMap& attributes,
                std::vector<std::unique_ptr<ir::Graph>> bodies = {}, int min_outputs = 0);
  Status finish(std::string_view op, std::vector<ir::ValueId> inputs) { return finish(op, std::move(inputs), attrs); }
  // An output of the model's node that is a value made already.
  void set_output(int i, ir::ValueId value);

  Result<ir::Tensor> read_tensor(pb::TensorProto& proto) const;
  Result<ir::Tensor> read_sparse_tensor(pb::SparseTensorProto& proto) const;
  Result<ir::ValueType> read_type(const pb::TypeProto& proto) const;

  // Bodies: the outer values that the named graph attributes use, then one body with the given types of its own inputs.
  Result<std::vector<Capture>> find_captures(std::initializer_list<std::string_view> attributes) const;
  // Those of the captures that become inputs; constants are copied into the bodies instead.
  std::vector<ir::ValueId> capture_inputs(const std::vector<Capture>& captures) const;
  Result<std::unique_ptr<ir::Graph>> body(std::string_view attribute, const std::vector<ir::ValueType>& own_inputs,
                                          const std::vector<Capture>& captures);
  // The nodes of a graph attribute as nodes of this graph, run once on `inputs`: one value per output. A node that
  // cannot be imported makes this one tainted, and the values mean nothing.
  Result<std::vector<ir::ValueId>> inline_body(std::string_view attribute, const std::vector<ir::ValueId>& inputs);
  Result<int> body_input_count(std::string_view attribute) const;
  // The type with every dimension unknown: of a value that may change from iteration to iteration.
  ir::ValueType loosened(const ir::ValueType& type, ir::Graph& graph) const;
  ir::Graph& graph() const;

 private:
  Result<pb::GraphProto*> graph_attribute(std::string_view attribute) const;

  Setup setup_;
  bool tainted_;
};

}  // namespace tutti::onnx
