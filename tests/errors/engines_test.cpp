// The engine file is damaged, foreign or of another version.
#include <fstream>
#include <iterator>

#include "errors/support.h"

namespace tutti::errors {
namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(UserMistake, a_truncated_engine_says_so) {
  const std::string bytes = bytes_of(relu_engine());
  expect_error(tutti({"run", write("cut.tutti", bytes.substr(0, bytes.size() / 2)), "--random-inputs", "1"}), 2,
               {"cut.tutti", "truncated"});
}

TEST_F(UserMistake, an_engine_with_an_altered_manifest_is_corrupt) {
  std::string bytes = bytes_of(relu_engine());
  bytes[bytes.find("Relu")] ^= 1;
  expect_error(tutti({"run", write("altered.tutti", bytes), "--random-inputs", "1"}), 2, {"altered.tutti", "SHA-256"});
}

TEST_F(UserMistake, an_engine_with_an_altered_weight_is_corrupt_when_verified) {
  auto model = model_with_input();
  add_float_initializer(model, "w", {4, 4096}).set_raw_data(std::string(65536, 'w'));
  add_node(model, "MatMul", {"x", "w"}, "y");
  add_output(model, "y");
  ASSERT_EQ(tutti({"build", write("m.onnx", model), "-o", path("m.tutti")}).exit_code, 0);
  std::string bytes = bytes_of(path("m.tutti"));
  bytes[bytes.find(std::string(65536, 'w')) + 5] ^= 1;
  expect_error(tutti({"inspect", write("altered.tutti", bytes), "--verify"}), 2, {"altered.tutti", "weights"});
}

TEST_F(UserMistake, a_foreign_file_is_not_an_engine) {
  expect_error(tutti({"run", write("foreign.tutti", std::string("PK\x03\x04 a zip file")), "--random-inputs", "1"}), 2,
               {"foreign.tutti"});
}

TEST_F(UserMistake, an_engine_cannot_be_built_from_an_engine) {
  expect_error(tutti({"build", relu_engine(), "-o", path("again.tutti")}), 2, {"relu.tutti"});
}

TEST_F(UserMistake, two_outputs_for_one_file_are_refused) {
  auto model = model_with_input();
  add_node(model, "Relu", {"x"}, "a/b");
  add_node(model, "Tanh", {"x"}, "a:b");
  add_output(model, "a/b");
  add_output(model, "a:b");
  expect_error(tutti({"run", write("m.onnx", model), "--random-inputs", "1", "--output-dir", path("out")}), 2,
               {"'a:b'", "a_b.npy"});
}

}  // namespace
}  // namespace tutti::errors
