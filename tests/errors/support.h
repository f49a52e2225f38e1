// What tests of user mistakes share: calling the program, and models small enough to be written by hand.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "onnx.pb.h"

namespace tutti::errors {

// What the program answered.
struct Answer {
  int exit_code = -1;
  std::string out, err;
};
// A build below `fast` verification fails the test unless it says why; tools/run_tests adds up how builds were
// verified.
Answer tutti(const std::vector<std::string>& arguments, const std::string& unverified_because = "");

// A folder of its own for each test.
class UserMistake : public testing::Test {
 protected:
  UserMistake();
  ~UserMistake() override;
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  // Writes and returns the path.
  std::string write(const std::string& name, const std::string& content) const;
  std::string write(const std::string& name, const ::onnx::ModelProto& model) const {
    return write(name, model.SerializeAsString());
  }
  // y = Relu(x), x: float32[n,4]; built as an engine when `engine` is set.
  std::string relu_model() const;
  std::string relu_engine() const;
  // A .npy file of float32 zeros.
  std::string zeros(const std::string& name, const std::vector<int64_t>& dims, const std::string& descr = "<f4",
                    int element_bytes = 4) const;

 private:
  std::filesystem::path folder_;
};

// An empty opset 17 model with a float input x[n,4].
::onnx::ModelProto model_with_input();
::onnx::NodeProto& add_node(::onnx::ModelProto& model, const std::string& op, const std::vector<std::string>& inputs,
                            const std::string& output);
void add_output(::onnx::ModelProto& model, const std::string& name);
::onnx::TensorProto& add_float_initializer(::onnx::ModelProto& model, const std::string& name,
                                           const std::vector<int64_t>& dims);

// The answer is an error with this exit code, and standard error holds every one of these parts.
void expect_error(const Answer& answer, int exit_code, const std::vector<std::string>& parts);

}  // namespace tutti::errors
