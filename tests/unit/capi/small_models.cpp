#include "unit/capi/small_models.h"

#include <cstdlib>

namespace tutti::testing {
namespace {

std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}

std::string number(int field, uint64_t value) { return varint(static_cast<uint64_t>(field) << 3) + varint(value); }

std::string bytes(int field, const std::string& content) {
  return varint((static_cast<uint64_t>(field) << 3) | 2) + varint(content.size()) + content;
}

// Field numbers are those of onnx.proto.
std::string value_info(const ModelValue& value) {
  std::string shape;
  for (const std::string& dim : value.dims) {
    const bool fixed = dim[0] >= '0' && dim[0] <= '9';
    shape += bytes(1, fixed ? number(1, std::strtoull(dim.c_str(), nullptr, 10)) : bytes(2, dim));
  }
  const std::string tensor = number(1, static_cast<uint64_t>(value.dtype)) + bytes(2, shape);
  return bytes(1, value.name) + bytes(2, bytes(1, tensor));
}

std::string node_proto(const ModelNode& node) {
  std::string out;
  for (const std::string& input : node.inputs) out += bytes(1, input);
  for (const std::string& output : node.outputs) out += bytes(2, output);
  return out + bytes(3, node.op + "_0") + bytes(4, node.op);
}

}  // namespace

std::string onnx_model(const std::vector<ModelValue>& inputs, const std::vector<ModelNode>& nodes,
                       const std::vector<std::string>& outputs) {
  std::string graph;
  for (const ModelNode& node : nodes) graph += bytes(1, node_proto(node));
  graph += bytes(2, "small");
  for (const ModelValue& input : inputs) graph += bytes(11, value_info(input));
  for (const std::string& output : outputs) graph += bytes(12, bytes(1, output));
  const std::string metadata = bytes(14, bytes(1, "author") + bytes(2, "Zoë"));
  return number(1, 9) + bytes(7, graph) + bytes(8, number(2, 20)) + metadata;
}

std::string relu_model() { return onnx_model({{"x", 1, {"n", "3"}}}, {{"Relu", {"x"}, {"y"}}}, {"y"}); }

std::string add_model() {
  return onnx_model({{"x", 1, {"n"}}, {"y", 1, {"n"}}}, {{"Add", {"x", "y"}, {"z"}}, {"Mul", {"x", "y"}, {"w"}}},
                    {"z", "w"});
}

std::string string_model() { return onnx_model({{"x", 8, {"n"}}}, {{"StringConcat", {"x", "x"}, {"y"}}}, {"y"}); }

std::string unique_model() { return onnx_model({{"x", 1, {"n"}}}, {{"Unique", {"x"}, {"values"}}}, {"values"}); }

std::string sequence_model() {
  return onnx_model({{"x", 1, {"n"}}}, {{"SequenceConstruct", {"x", "x"}, {"both"}}}, {"both"});
}

}  // namespace tutti::testing
