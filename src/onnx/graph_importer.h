// Turns GraphProtos into graphs, node by node.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "onnx/attr_map.h"
#include "onnx/external_data.h"
#include "onnx/import.h"
#include "onnx/map.h"
#include "onnx/order.h"
#include "onnx/tensor_proto.h"
#include "onnx/value_types.h"

namespace tutti::onnx {

using Scope = std::unordered_map<std::string, ir::ValueId>;
using Opsets = std::map<std::string, int64_t, std::less<>>;  // "" for ai.onnx

// Where names, versions and attribute references of the nodes at hand are looked up: one per graph and per inlined
// function call.
struct Frame {
  Scope* scope = nullptr;
  const Opsets* opsets = nullptr;
  const AttrMap* bindings = nullptr;  // a function's attributes; null outside functions
  std::string prefix;                 // of the names of values and nodes made from here
  int depth = 0;
};

// What all graphs of one import share. One thread at a time.
struct Session {
  Session(const ImportOptions& import_options, ImportReport& import_report, const std::string& base_dir)
      : options(import_options), report(import_report), external(base_dir) {}

  const ImportOptions& options;
  ImportReport& report;
  ExternalData external;
  OperatorMap operators;
  FreeNames free_names;
  TypeReader types;
  std::unordered_map<std::string, pb::FunctionProto*> functions;  // by function_key
  std::optional<Error> first_error;                               // other than unsupported nodes
  int64_t calls = 0;                                              // functions inlined so far

  void record(Error error);
  void warn(std::string text);
};

std::string function_key(const std::string& domain, const std::string& name, const std::string& overload);
Opsets read_opsets(const google::protobuf::RepeatedPtrField<pb::OperatorSetIdProto>& imports);

// Fills one graph. Broken and unsupported nodes are recorded in the session and replaced by placeholders, so that the
// rest is checked too; such a graph must be thrown away. One thread at a time.
class GraphImporter {
 public:
  GraphImporter(Session& session, ir::Graph& graph) : session_(session), graph_(graph) {}

  // The outermost graph: inputs, initializers, nodes, outputs.
  Status import_main(pb::GraphProto& proto, Frame frame);
  // A body: `own_inputs` are the types of the inputs it declares; captures follow them.
  Status import_body(pb::GraphProto& proto, const Frame& outer, const ir::Graph& outer_graph,
                     const std::vector<ir::ValueType>& own_inputs, const std::vector<Capture>& captures,
                     const std::vector<bool>& outer_tainted);
  // The nodes of a body as nodes of this graph, with `inputs` for its inputs; one value per output. Names within get
  // the prefix.
  Result<std::vector<ir::ValueId>> inline_graph(pb::GraphProto& proto, const Frame& outer, const std::string& prefix,
                                                const std::vector<ir::ValueId>& inputs);

  Session& session() { return session_; }
  ir::Graph& graph() { return graph_; }
  // The value comes from a node that could not be imported; its type means nothing.
  bool is_tainted(ir::ValueId value) const {
    return static_cast<size_t>(value) < tainted_.size() && tainted_[static_cast<size_t>(value)];
  }
  const std::vector<bool>& tainted() const { return tainted_; }
  bool any_tainted() const { return any_tainted_; }
  // Frames of functions share their tensors between calls.
  TensorReadOptions tensor_options(const Frame& frame);

 private:
  Status add_inputs(pb::GraphProto& proto, Frame& frame);
  Status add_initializers(pb::GraphProto& proto, Frame& frame);
  void add_outputs(const pb::GraphProto& proto, const Frame& frame, const std::string& what);
  void check_output_type(const pb::ValueInfoProto& declared, ir::ValueId value);
  Status import_nodes(Nodes& nodes, const Frame& frame);
  Status import_node(pb::NodeProto& node, const Frame& frame);
  // Sets `tainted` when a body turns out to hold a node that cannot be imported.
  Status convert(const MapRow& row, NodeBuilder::Setup setup, bool& tainted);
  Status inline_function(pb::FunctionProto& function, pb::NodeProto& call, const Frame& frame,
                         const std::vector<ir::ValueId>& inputs);
  Status bind_function(pb::FunctionProto& function, pb::NodeProto& call, const Frame& frame, AttrMap& bindings);
  std::vector<ir::ValueId> resolve_inputs(const pb::NodeProto& node, const Frame& frame, bool& tainted);
  void add_placeholder(const pb::NodeProto& node, const Frame& frame);
  void taint(ir::ValueId value);

  Session& session_;
  ir::Graph& graph_;
  std::vector<bool> tainted_;
  bool any_tainted_ = false;
};

}  // namespace tutti::onnx
