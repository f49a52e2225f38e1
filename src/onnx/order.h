// Which names a graph of the model needs from outside, and in which order its nodes can run.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "onnx/proto.h"

namespace tutti::onnx {

using Nodes = google::protobuf::RepeatedPtrField<pb::NodeProto>;

// Finds and remembers the free names of graphs. One thread at a time; the model must stay where it is.
class FreeNames {
 public:
  // Names that the graph (bodies within it included) uses but does not define, each once, in order of first use.
  const std::vector<std::string>& of(const pb::GraphProto& graph);

 private:
  std::unordered_map<const pb::GraphProto*, std::vector<std::string>> known_;
};

// Indices of the nodes such that each stands after those it depends on; nodes that are in order already keep it. Errors
// name a value that two nodes make, or the nodes on a cycle.
Result<std::vector<int>> execution_order(const Nodes& nodes, FreeNames& free_names);

}  // namespace tutti::onnx
