// The typed graph: values in single assignment, nodes in topological order.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ir/attrs.h"
#include "ir/tensor.h"
#include "ir/type.h"

namespace tutti::ir {

struct OpDef;
class Graph;

using ValueId = int32_t;                 // index into a graph's values
using NodeId = int32_t;                  // index into a graph's nodes
inline constexpr ValueId kNoValue = -1;  // an optional input that is absent
inline constexpr NodeId kNoNode = -1;

struct Use {
  NodeId node;
  int32_t slot;  // which input of the node
  friend bool operator==(const Use&, const Use&) = default;
};

// A value: a graph input, a constant, or one output of a node.
struct Value {
  std::string name;
  ValueType type;
  NodeId producer = kNoNode;
  int32_t output_index = 0;
  std::vector<Use> uses;  // by nodes; graph outputs are not listed
  Tensor constant;        // defined() for constants
  // For integer tensors of rank 0 or 1 whose elements are known as expressions (shape arithmetic).
  std::optional<std::vector<Dim>> dims_value;
  bool alive = true;

  bool is_constant() const { return constant.defined(); }
};

// One operation. Values that a body needs from outside are explicit: they are inputs of the node and inputs of the
// body, so every graph is closed. Input conventions of control flow: ops/control.h.
struct Node {
  const OpDef* op = nullptr;
  std::string name;
  Attrs attrs;
  std::vector<ValueId> inputs;   // kNoValue where an optional input is absent
  std::vector<ValueId> outputs;  // kNoValue where an output is not wanted
  std::vector<std::unique_ptr<Graph>> bodies;
  std::vector<std::string> origins;  // names of the model's nodes that this one stands for
  bool alive = true;
  NodeId previous = kNoNode, next = kNoNode;  // the order; kept by Graph
  std::vector<int32_t> use_positions;         // by input: where its use stands in Value::uses; kept by Graph
};

// A named input or output of the graph.
struct Port {
  std::string name;
  ValueId value = kNoValue;
};

// What a new node is made of. `output_names` decides the number of outputs; "" marks one that is not wanted.
struct NodeSpec {
  const OpDef* op = nullptr;
  Attrs attrs = {};
  std::vector<ValueId> inputs = {};
  std::vector<std::string> output_names = {};
  std::string name = {};
  std::vector<std::string> origins = {};
  std::vector<std::unique_ptr<Graph>> bodies = {};
};

// A graph of one model or of one body. One thread at a time; const access from many. Movable; copied by clone() only.
// Ids stay valid until the value or node is removed; removed ids are never used again.
class Graph {
 public:
  Graph() = default;
  Graph(Graph&&) noexcept = default;
  Graph& operator=(Graph&&) noexcept = default;
  Graph clone() const;  // shares constants' storage

  // --- building
  // -------------------------------------------------------------------------------------------------------------
  ValueId add_input(std::string name, ValueType type);
  ValueId add_constant(std::string name, Tensor tensor);
  // Appends (or inserts before `before`). Output types are undefined until infer_node (ir/infer.h) has run.
  NodeId add_node(NodeSpec spec, NodeId before = kNoNode);
  void add_output(std::string name, ValueId value);

  // --- reading
  // --------------------------------------------------------------------------------------------------------------
  const Value& value(ValueId id) const { return values_[static_cast<size_t>(id)]; }
  Value& value(ValueId id) { return values_[static_cast<size_t>(id)]; }
  const Node& node(NodeId id) const { return nodes_[static_cast<size_t>(id)]; }
  Node& node(NodeId id) { return nodes_[static_cast<size_t>(id)]; }
  int32_t value_capacity() const { return static_cast<int32_t>(values_.size()); }  // ids are below this
  int32_t node_capacity() const { return static_cast<int32_t>(nodes_.size()); }
  int32_t node_count() const { return live_nodes_; }
  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }
  bool is_output(ValueId id) const { return output_uses(id) > 0; }
  int output_uses(ValueId id) const;
  // The node that makes the value, or null.
  const Node* producer(ValueId id) const;
  // The value's only consumer is one use by one node and it is not a graph output.
  bool has_single_use(ValueId id) const { return value(id).uses.size() == 1 && !is_output(id); }

  NodeId first_node() const { return first_; }
  NodeId next_node(NodeId id) const { return node(id).next; }
  // Live nodes in order; a snapshot that stays valid while the graph changes (removed nodes have alive == false).
  std::vector<NodeId> order() const;

  // --- changing
  // -------------------------------------------------------------------------------------------------------------
  void set_input(NodeId node, int slot, ValueId value);     // a new slot when slot == inputs.size()
  void replace_uses(ValueId old_value, ValueId new_value);  // graph outputs too
  void set_output(int index, ValueId value);
  void remove_output(int index);
  void remove_graph_input(int index);  // its value must have no uses
  void remove_node(NodeId node);       // its outputs must have no uses
  void remove_value(ValueId value);    // a constant or input value without uses
  void move_before(NodeId node, NodeId before);
  // Restores topological order after edits, keeping the present order where possible. An error names a node on a cycle.
  Status sort_topologically();

  // --- names and symbols
  // ----------------------------------------------------------------------------------------------------
  std::string unique_name(std::string_view prefix);
  Dim fresh_symbol(std::string_view prefix, Range range = {});
  SymbolRanges& symbols() { return symbols_; }
  const SymbolRanges& symbols() const { return symbols_; }
  // Free text kept with the model: producer, licence, dictionaries.
  std::map<std::string, std::string>& metadata() { return metadata_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  std::string name;

 private:
  void link(NodeId id, NodeId before);
  void unlink(NodeId id);
  void add_use(ValueId value, Use use);
  void drop_use(ValueId value, Use use);

  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::vector<Port> inputs_, outputs_;
  std::vector<int32_t> output_use_counts_;  // by value
  NodeId first_ = kNoNode, last_ = kNoNode;
  int32_t live_nodes_ = 0;
  int64_t name_counter_ = 0;
  SymbolRanges symbols_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace tutti::ir
