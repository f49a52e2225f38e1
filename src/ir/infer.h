// Drives the operators' shape rules over a graph.
#pragma once

#include "ir/graph.h"
#include "ir/op_def.h"

namespace tutti::ir {

// Checks arity and runs the rule of one node; sets its outputs' types. Errors carry the node's name, op and input
// types.
Status infer_node(Graph& graph, NodeId node);
// All nodes in order, bodies included. Stops at the first error.
Status infer_graph(Graph& graph);
// "node 'conv1' (Conv) with inputs float32[1,3,8,8], float32[4,3,3,3]"
std::string describe_node(const Graph& graph, NodeId node);

}  // namespace tutti::ir
