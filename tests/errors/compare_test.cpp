// `tutti compare`: what it is given cannot be compared, or does not agree.
#include <algorithm>

#include "errors/support.h"

namespace tutti::errors {
namespace {

class Compare : public UserMistake {
 protected:
  // y = x W, of which one weight is `last`; the layer before it is h = Relu(x).
  std::string weighted(const std::string& name, float last) const {
    auto model = model_with_input();
    std::string weights(4 * 4 * sizeof(float), '\0');
    for (size_t i = 0; i < 16; ++i) {
      const float value = i == 15 ? last : 1.0f;
      std::copy_n(reinterpret_cast<const char*>(&value), sizeof(float), weights.data() + i * sizeof(float));
    }
    add_float_initializer(model, "w", {4, 4}).set_raw_data(weights);
    add_node(model, "Relu", {"x"}, "h");
    add_node(model, "MatMul", {"h", "w"}, "y");
    add_output(model, "y");
    return write(name, model);
  }
  Answer compare(const std::string& a, const std::string& b, std::vector<std::string> options = {}) const {
    std::vector<std::string> arguments{"compare", a};
    if (!b.empty()) arguments.push_back(b);
    arguments.insert(arguments.end(), {"--random-inputs", "1", "--shapes", "x=3x4"});
    arguments.insert(arguments.end(), options.begin(), options.end());
    return tutti(arguments);
  }
  std::string outputs_of(const std::string& model, const std::string& folder) const {
    EXPECT_EQ(
        tutti({"run", model, "--random-inputs", "1", "--shapes", "x=3x4", "--output-dir", path(folder)}).exit_code, 0);
    return path(folder);
  }
};

void expect_parts(const Answer& answer, int exit_code, const std::vector<std::string>& parts) {
  EXPECT_EQ(answer.exit_code, exit_code) << answer.out << answer.err;
  for (const std::string& part : parts)
    EXPECT_NE((answer.out + answer.err).find(part), std::string::npos) << part << " is not in\n"
                                                                       << answer.out << answer.err;
}

TEST_F(Compare, a_model_agrees_with_its_engine_its_outputs_and_itself_uncompiled) {
  const std::string model = weighted("a.onnx", 1);
  ASSERT_EQ(tutti({"build", model, "-o", path("a.tutti")}).exit_code, 0);
  const std::string files = outputs_of(model, "out");
  expect_parts(compare(path("a.tutti"), model), 0, {"y float32[3,4]: max abs 0", "1 outputs agree"});
  expect_parts(compare(path("a.tutti"), model, {"--interpret"}), 0, {"1 outputs agree"});
  expect_parts(compare(path("a.tutti"), files), 0, {"1 outputs agree"});
  expect_parts(compare(files, model), 0, {"1 outputs agree"});
  expect_parts(tutti({"compare", files, files}), 0, {"1 outputs agree"});
  expect_parts(compare(model, "", {"--bisect", "--all-layers", "--top-k", "2"}), 0,
               {"no layer is over the limit", "top 2 equal in 3 of 3 rows", "nothing to find"});
}

TEST_F(Compare, one_other_weight_fails_with_the_numbers_and_the_layer) {
  const std::string a = weighted("a.onnx", 1), b = weighted("b.onnx", 2);
  expect_error(compare(a, b), 3, {"output 'y'", "max rel", "first at [", ",3]", "--all-layers"});
  expect_parts(compare(a, b, {"--all-layers"}), 3,
               {"first layer over the limit: 'y', made by node 'node_y'", "from node_y"});
  expect_parts(compare(a, b, {"--accuracy", "0,10"}), 0, {"1 outputs agree", "max rel at most 10"});
  expect_error(compare(a, b, {"--accuracy", "0,10", "--top-k", "1"}), 3, {"output 'y'", "decisions"});
}

TEST_F(Compare, with_json_a_failure_is_one_document_with_the_error_in_it) {
  const Answer answer =
      compare(weighted("a.onnx", 1), weighted("b.onnx", 2), {"--all-layers", "--top-k", "1", "--json"});
  expect_parts(answer, 3,
               {"\"verdict\": \"fail\"", "\"max_abs\"", "\"cosine\"", "\"first_differing\"", "\"decisions\"",
                "\"first_layer_over_limit\": \"y\"", "\"code\": \"verification\""});
  EXPECT_TRUE(answer.err.empty()) << answer.err;
  EXPECT_EQ(answer.out.front(), '{');
  EXPECT_EQ(answer.out.find("\n{"), std::string::npos) << answer.out;
}

TEST_F(Compare, things_without_a_common_output_list_the_names) {
  auto other = model_with_input();
  add_node(other, "Relu", {"x"}, "z");
  add_output(other, "z");
  expect_error(compare(relu_model(), write("other.onnx", other)), 2, {"found y in A and z in B", "--output-dir"});
}

TEST_F(Compare, things_with_other_inputs_name_the_input) {
  auto other = model_with_input();
  other.mutable_graph()->mutable_input(0)->set_name("image");
  add_node(other, "Relu", {"image"}, "y");
  add_output(other, "y");
  expect_error(compare(relu_model(), write("other.onnx", other)), 2, {"'image'", "x"});
}

TEST_F(Compare, shapes_and_types_that_differ_are_named) {
  std::filesystem::create_directories(path("a"));
  std::filesystem::create_directories(path("b"));
  zeros("a/y.npy", {2, 3});
  zeros("b/y.npy", {3, 2});
  expect_error(tutti({"compare", path("a"), path("b")}), 3, {"'y'", "found float32[2,3], expected float32[3,2]"});
  zeros("b/y.npy", {2, 3}, "<f8", 8);
  expect_error(tutti({"compare", path("a"), path("b")}), 3, {"float32[2,3]", "float64[2,3]"});
}

TEST_F(Compare, a_missing_file_is_named) {
  expect_error(compare(relu_model(), path("no.tutti")), 2, {"no.tutti"});
  expect_error(compare(path("no.onnx"), relu_model()), 2, {"no.onnx"});
}

TEST_F(Compare, a_directory_without_outputs_says_how_they_are_written) {
  std::filesystem::create_directories(path("empty"));
  expect_error(compare(relu_model(), path("empty")), 2, {"empty", "no .npy file", "--output-dir"});
}

TEST_F(Compare, an_accuracy_that_is_no_pair_of_numbers_shows_the_form) {
  for (const char* text : {"0.99", "high,low", "1.5,0.1"})
    expect_error(compare(relu_model(), relu_model(), {"--accuracy", text}), 1, {text, "COS,REL", "0.9999,1e-2"});
}

TEST_F(Compare, no_decisions_are_no_top_k) {
  expect_error(compare(relu_model(), relu_model(), {"--top-k", "0"}), 1, {"--top-k"});
}

TEST_F(Compare, an_engine_alone_has_nothing_to_be_compared_with) {
  expect_error(compare(relu_engine(), ""), 1, {"found an engine", "tutti compare A B"});
}

TEST_F(Compare, a_bisection_of_two_things_is_refused) {
  expect_error(compare(weighted("a.onnx", 1), weighted("b.onnx", 2), {"--bisect"}), 1, {"--bisect", "b.onnx"});
}

TEST_F(Compare, layers_of_a_directory_are_refused) {
  const std::string model = relu_model();
  expect_error(compare(model, outputs_of(model, "out"), {"--all-layers"}), 1, {"--all-layers", "out"});
}

TEST_F(Compare, inputs_that_are_missing_say_how_to_give_them) {
  expect_error(tutti({"compare", relu_model(), relu_model()}), 1, {"'x'", "--input x=FILE", "--random-inputs"});
}

TEST_F(Compare, the_help_shows_examples) {
  expect_parts(tutti({"compare", "--help"}), 0, {"tutti compare model.tutti model.onnx --random-inputs 1", "--bisect"});
}

}  // namespace
}  // namespace tutti::errors
