// ONNX files of a few nodes, written byte by byte: these tests link what other programs link, and no more.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tutti::testing {

// A value of the graph: ONNX element type and dims; "n" is open, "3" fixed.
struct ModelValue {
  std::string name;
  int dtype = 1;
  std::vector<std::string> dims;
};

struct ModelNode {
  std::string op;
  std::vector<std::string> inputs, outputs;
};

// The bytes of an ONNX model of operator set 20.
std::string onnx_model(const std::vector<ModelValue>& inputs, const std::vector<ModelNode>& nodes,
                       const std::vector<std::string>& outputs);

// y = relu(x), x float32[n,3].
std::string relu_model();
// z = x + y, both float32[n]; w = x * y.
std::string add_model();
// y = x followed by x, string[n].
std::string string_model();
// values = the different ones of x, float32[n]: how many depends on the data.
std::string unique_model();
// A sequence of x, float32[n].
std::string sequence_model();

}  // namespace tutti::testing
