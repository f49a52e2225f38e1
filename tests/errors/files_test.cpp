// The model file is not what it should be.
#include <fstream>

#include "errors/support.h"

namespace tutti::errors {
namespace {

TEST_F(UserMistake, a_missing_model_is_named) { expect_error(tutti({"build", path("no.onnx")}), 2, {"no.onnx"}); }

TEST_F(UserMistake, a_text_file_is_not_a_model) {
  expect_error(tutti({"build", write("notes.onnx", std::string("hello, this is no model\n"))}), 2,
               {"notes.onnx", "ONNX"});
}

TEST_F(UserMistake, an_empty_file_is_not_a_model) {
  expect_error(tutti({"build", write("empty.onnx", std::string())}), 2, {"empty.onnx"});
}

TEST_F(UserMistake, a_folder_is_not_a_model) { expect_error(tutti({"build", path("")}), 2, {"error: "}); }

TEST_F(UserMistake, a_truncated_model_is_refused) {
  auto model = model_with_input();
  add_node(model, "Relu", {"x"}, "y");
  add_output(model, "y");
  const std::string bytes = model.SerializeAsString();
  expect_error(tutti({"build", write("cut.onnx", bytes.substr(0, bytes.size() - 9))}), 2, {"cut.onnx"});
}

TEST_F(UserMistake, missing_external_weights_name_tensor_and_file) {
  auto model = model_with_input();
  auto& tensor = add_float_initializer(model, "w", {1, 4});
  tensor.clear_raw_data();
  tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
  auto* location = tensor.add_external_data();
  location->set_key("location");
  location->set_value("weights.bin");
  add_node(model, "Add", {"x", "w"}, "y");
  add_output(model, "y");
  expect_error(tutti({"build", write("m.onnx", model)}), 2, {"'w'", "weights.bin"});
  write("weights.bin", std::string(8, '\0'));
  expect_error(tutti({"build", path("m.onnx")}), 2, {"'w'", "16"});
  location->set_value("../weights.bin");
  expect_error(tutti({"build", write("m.onnx", model)}), 2, {"'w'", "../weights.bin"});
  location->set_value("/etc/passwd");
  expect_error(tutti({"build", write("m.onnx", model)}), 2, {"'w'", "/etc/passwd"});
}

TEST_F(UserMistake, external_weights_may_not_leave_the_folder_by_a_link) {
  auto model = model_with_input();
  auto& tensor = add_float_initializer(model, "w", {1, 4});
  tensor.clear_raw_data();
  tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
  auto* location = tensor.add_external_data();
  location->set_key("location");
  location->set_value("link.bin");
  add_node(model, "Add", {"x", "w"}, "y");
  add_output(model, "y");
  std::filesystem::create_symlink("/etc/passwd", path("link.bin"));
  expect_error(tutti({"build", write("m.onnx", model)}), 2, {"'w'", "link.bin"});
}

}  // namespace
}  // namespace tutti::errors
