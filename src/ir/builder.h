// Builds graphs node by node with types inferred on the way; for expansions, rewrites and tests.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/op_def.h"

namespace tutti::ir {

// Collects the first error instead of failing at each call, so that building reads as a formula; finish() reports it.
// One thread at a time.
class GraphBuilder {
 public:
  ValueId input(std::string name, ValueType type) { return graph_.add_input(std::move(name), std::move(type)); }
  ValueId constant(Tensor tensor) { return graph_.add_constant(graph_.unique_name("c"), std::move(tensor)); }
  ValueId ints(std::vector<int64_t> values);  // int64 vector constant
  template <class T>
  ValueId scalar(T value) {
    return constant(Tensor::scalar(value));
  }
  // A node with one output. kNoValue inputs are absent.
  ValueId node(const OpDef& op, std::vector<ValueId> inputs, Attrs attrs = {});
  std::vector<ValueId> node_outputs(const OpDef& op, std::vector<ValueId> inputs, Attrs attrs, int output_count);
  void output(std::string name, ValueId value) { graph_.add_output(std::move(name), value); }
  const ValueType& type(ValueId value) const { return graph_.value(value).type; }
  Graph& graph() { return graph_; }
  Result<Graph> finish() &&;

 private:
  Graph graph_;
  std::optional<Error> error_;
};

}  // namespace tutti::ir
