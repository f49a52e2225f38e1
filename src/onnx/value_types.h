// TypeProto to ValueType.
#pragma once

#include <map>
#include <string>

#include "base/error.h"
#include "ir/graph.h"
#include "onnx/proto.h"

namespace tutti::onnx {

// Turns the model's types into ours; each dim_param becomes one symbol, the same one wherever it occurs. One thread at
// a time.
class TypeReader {
 public:
  // `graph` owns the symbols; unnamed dimensions get fresh ones that start with `name`.
  Result<ir::ValueType> read(const pb::TypeProto& type, ir::Graph& graph, const std::string& name);

 private:
  Result<ir::ValueType> read_tensor(const pb::TypeProto::Tensor& type, ir::Graph& graph, const std::string& name);
  ir::Dim named_dim(const std::string& param, ir::Graph& graph);

  std::map<std::string, std::string> symbols_;  // dim_param -> symbol
};

}  // namespace tutti::onnx
