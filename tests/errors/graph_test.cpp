// The graph inside the model is wrong.
#include "errors/support.h"

namespace tutti::errors {
namespace {

TEST_F(UserMistake, every_unknown_operator_is_listed_with_a_guess) {
  auto model = model_with_input();
  add_node(model, "Rellu", {"x"}, "a");
  add_node(model, "Frobnicate", {"a"}, "b");
  add_node(model, "Relu", {"b"}, "y");
  add_output(model, "y");
  expect_error(tutti({"build", write("m.onnx", model)}), 2, {"Rellu", "Relu", "Frobnicate", "2 nodes"});
}

TEST_F(UserMistake, an_unknown_domain_is_named) {
  auto model = model_with_input();
  auto* opset = model.add_opset_import();
  opset->set_domain("com.example");
  opset->set_version(1);
  add_node(model, "Magic", {"x"}, "y").set_domain("com.example");
  add_output(model, "y");
  expect_error(tutti({"build", write("m.onnx", model)}), 2, {"com.example", "Magic"});
}

TEST_F(UserMistake, a_cycle_names_a_node_on_it) {
  auto model = model_with_input();
  add_node(model, "Add", {"x", "b"}, "a");
  add_node(model, "Relu", {"a"}, "b");
  add_output(model, "b");
  expect_error(tutti({"build", write("m.onnx", model)}), 2, {"cycl", "node_"});
}

TEST_F(UserMistake, a_value_that_nobody_makes_is_named) {
  auto model = model_with_input();
  add_node(model, "Add", {"x", "ghost"}, "y");
  add_output(model, "y");
  expect_error(tutti({"build", write("m.onnx", model)}), 2, {"ghost"});
}

TEST_F(UserMistake, a_value_made_twice_is_named) {
  auto model = model_with_input();
  add_node(model, "Relu", {"x"}, "y");
  add_node(model, "Tanh", {"x"}, "y");
  add_output(model, "y");
  expect_error(tutti({"build", write("m.onnx", model)}), 2, {"'y'"});
}

TEST_F(UserMistake, an_output_that_nobody_makes_is_named) {
  auto model = model_with_input();
  add_node(model, "Relu", {"x"}, "y");
  add_output(model, "z");
  expect_error(tutti({"build", write("m.onnx", model)}), 2, {"'z'"});
}

TEST_F(UserMistake, matrices_that_do_not_fit_name_the_node_and_both_shapes) {
  auto model = model_with_input();
  add_float_initializer(model, "w", {5, 6});
  add_node(model, "MatMul", {"x", "w"}, "y");
  add_output(model, "y");
  expect_error(tutti({"build", write("m.onnx", model)}), 2, {"node_y", "MatMul", "[5,6]", "4"});
}

TEST_F(UserMistake, shapes_that_do_not_broadcast_are_shown) {
  auto model = model_with_input();
  add_float_initializer(model, "w", {3});
  add_node(model, "Add", {"x", "w"}, "y");
  add_output(model, "y");
  expect_error(tutti({"build", write("m.onnx", model)}), 2, {"node_y", "broadcast", "3", "4"});
}

TEST_F(UserMistake, an_unknown_attribute_is_named) {
  auto model = model_with_input();
  auto* attribute = add_node(model, "Softmax", {"x"}, "y").add_attribute();
  attribute->set_name("temperature");
  attribute->set_type(::onnx::AttributeProto::FLOAT);
  attribute->set_f(2);
  add_output(model, "y");
  expect_error(tutti({"build", write("m.onnx", model)}), 2, {"node_y", "temperature"});
}

TEST_F(UserMistake, an_attribute_of_the_wrong_type_is_named) {
  auto model = model_with_input();
  auto* attribute = add_node(model, "Softmax", {"x"}, "y").add_attribute();
  attribute->set_name("axis");
  attribute->set_type(::onnx::AttributeProto::STRING);
  attribute->set_s("last");
  add_output(model, "y");
  expect_error(tutti({"build", write("m.onnx", model)}), 2, {"node_y", "axis"});
}

TEST_F(UserMistake, an_axis_out_of_range_is_shown_with_the_rank) {
  auto model = model_with_input();
  auto* attribute = add_node(model, "Softmax", {"x"}, "y").add_attribute();
  attribute->set_name("axis");
  attribute->set_type(::onnx::AttributeProto::INT);
  attribute->set_i(7);
  add_output(model, "y");
  expect_error(tutti({"build", write("m.onnx", model)}), 2, {"node_y", "axis", "7", "2"});
}

TEST_F(UserMistake, a_missing_operand_names_the_node) {
  auto model = model_with_input();
  add_node(model, "Add", {"x"}, "y");
  add_output(model, "y");
  expect_error(tutti({"build", write("m.onnx", model)}), 2, {"node_y", "found 1", "expected 2"});
}

TEST_F(UserMistake, a_permutation_that_counts_from_the_end_is_refused) {
  auto model = model_with_input();
  add_node(model, "Transpose", {"x"}, "t");
  auto* perm = add_node(model, "Transpose", {"t"}, "y").add_attribute();
  perm->set_name("perm");
  perm->set_type(::onnx::AttributeProto::INTS);
  perm->add_ints(-1);
  perm->add_ints(0);
  add_output(model, "y");
  expect_error(tutti({"build", write("m.onnx", model)}), 2, {"'node_y'", "-1", "0 to 1"});
}

TEST_F(UserMistake, a_column_that_a_product_lacks_is_refused) {
  auto model = model_with_input();
  add_float_initializer(model, "w", {4, 6});
  auto& index = *model.mutable_graph()->add_initializer();
  index.set_name("i");
  index.set_data_type(::onnx::TensorProto::INT64);
  index.add_int64_data(6);
  add_node(model, "MatMul", {"x", "w"}, "m");
  auto* axis = add_node(model, "Gather", {"m", "i"}, "y").add_attribute();
  axis->set_name("axis");
  axis->set_type(::onnx::AttributeProto::INT);
  axis->set_i(1);
  add_output(model, "y");
  const std::string engine = path("m.tutti");
  tutti({"build", write("m.onnx", model), "-o", engine, "--verify", "off"}, "the index is wrong at every shape");
  expect_error(tutti({"run", engine, "--random-inputs", "1"}), 2, {"index 6", "[-6, 6)"});
}

TEST_F(UserMistake, a_name_with_control_characters_cannot_move_the_cursor) {
  auto model = model_with_input();
  add_node(model, "Relu", {"\x1b[2Jq"}, "y");
  add_output(model, "y");
  const Answer answer = tutti({"build", write("m.onnx", model)});
  expect_error(answer, 2, {"\\x1b[2Jq"});
  EXPECT_EQ(answer.err.find('\x1b'), std::string::npos);
}

TEST_F(UserMistake, a_dimension_beyond_memory_is_a_limit_error) {
  auto model = model_with_input();
  auto& shape = *model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  for (auto& dim : *shape.mutable_dim()) dim.set_dim_value(int64_t{1} << 22);
  add_node(model, "Relu", {"x"}, "y");
  add_output(model, "y");
  expect_error(tutti({"run", write("m.onnx", model), "--random-inputs", "1"}), 5, {"memory", "70368744177664"});
}

TEST_F(UserMistake, an_absurd_dimension_is_refused_before_memory_is_taken) {
  auto model = model_with_input();
  add_float_initializer(model, "w", {int64_t{1} << 60, 16});
  add_node(model, "Add", {"x", "w"}, "y");
  add_output(model, "y");
  const Answer answer = tutti({"build", write("m.onnx", model)});
  EXPECT_TRUE(answer.exit_code == 2 || answer.exit_code == 5) << answer.exit_code;
  expect_error(answer, answer.exit_code, {"'w'"});
}

TEST_F(UserMistake, a_negative_dimension_is_refused) {
  auto model = model_with_input();
  add_float_initializer(model, "w", {-4});
  add_node(model, "Add", {"x", "w"}, "y");
  add_output(model, "y");
  expect_error(tutti({"build", write("m.onnx", model)}), 2, {"'w'", "-4"});
}

TEST_F(UserMistake, a_tensor_with_too_little_data_is_named) {
  auto model = model_with_input();
  add_float_initializer(model, "w", {4}).set_raw_data(std::string(7, '\0'));
  add_node(model, "Add", {"x", "w"}, "y");
  add_output(model, "y");
  expect_error(tutti({"build", write("m.onnx", model)}), 2, {"'w'", "7", "16"});
}

}  // namespace
}  // namespace tutti::errors
