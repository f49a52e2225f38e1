#include "ir/builder.h"

#include "ir/infer.h"
#include "ir/verify.h"

namespace tutti::ir {

ValueId GraphBuilder::ints(std::vector<int64_t> values) {
  const auto count = static_cast<int64_t>(values.size());
  return constant(Tensor::from<int64_t>({count}, values));
}

ValueId GraphBuilder::node(const OpDef& op, std::vector<ValueId> inputs, Attrs attrs) {
  return node_outputs(op, std::move(inputs), std::move(attrs), 1)[0];
}

std::vector<ValueId> GraphBuilder::node_outputs(const OpDef& op, std::vector<ValueId> inputs, Attrs attrs,
                                                int output_count) {
  NodeSpec spec{.op = &op, .attrs = std::move(attrs), .inputs = std::move(inputs), .name = graph_.unique_name(op.name)};
  for (int i = 0; i < output_count; ++i) spec.output_names.push_back(graph_.unique_name("v"));
  const NodeId id = graph_.add_node(std::move(spec));
  if (!error_) {
    Status status = infer_node(graph_, id);
    if (!status.ok()) error_ = status.take_error();
  }
  return graph_.node(id).outputs;
}

Result<Graph> GraphBuilder::finish() && {
  if (error_) return *std::move(error_);
  TUTTI_TRY(verify_graph(graph_));
  return std::move(graph_);
}

}  // namespace tutti::ir
