// The tensors given to a run do not fit the model.
#include <sys/stat.h>

#include "errors/support.h"

namespace tutti::errors {
namespace {

TEST_F(UserMistake, a_folder_or_a_pipe_is_no_input) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  for (const char* name : {"", "pipe"})
    expect_error(tutti({"run", relu_model(), "--input", "x=" + path(name)}), 2, {path(name), "regular file"});
}

TEST_F(UserMistake, an_input_without_a_file_is_named) {
  expect_error(tutti({"run", relu_model(), "--input", "x="}), 1, {"--input x=", "NAME=FILE"});
}

TEST_F(UserMistake, an_input_of_the_wrong_shape_shows_both_shapes) {
  expect_error(tutti({"run", relu_engine(), "--input", "x=" + zeros("x.npy", {2, 5})}), 2, {"'x'", "[2,5]", "[n,4]"});
}

TEST_F(UserMistake, an_input_of_the_wrong_rank_says_how_many_dimensions_to_give) {
  expect_error(tutti({"run", relu_engine(), "--input", zeros("x.npy", {4})}), 2,
               {"'x'", "[4]", "[n,4]", "give 2 dimensions"});
}

TEST_F(UserMistake, an_input_of_the_wrong_type_shows_both_types) {
  expect_error(tutti({"run", relu_engine(), "--input", zeros("x.npy", {2, 4}, "<i8", 8)}), 2,
               {"'x'", "int64", "float32"});
}

TEST_F(UserMistake, an_unknown_input_name_lists_the_inputs) {
  expect_error(tutti({"run", relu_engine(), "--input", "image=" + zeros("x.npy", {2, 4})}), 1,
               {"image", "inputs are x"});
}

TEST_F(UserMistake, an_input_given_twice_is_refused) {
  const std::string file = zeros("x.npy", {2, 4});
  expect_error(tutti({"run", relu_engine(), "--input", "x=" + file, "--input", "x=" + file}), 1, {"'x' twice"});
}

TEST_F(UserMistake, a_missing_input_says_how_to_give_it) {
  expect_error(tutti({"run", relu_engine()}), 1, {"'x'", "--input x=FILE", "--random-inputs"});
}

TEST_F(UserMistake, a_missing_input_file_is_named) {
  expect_error(tutti({"run", relu_engine(), "--input", "x=" + path("no.npy")}), 2, {"no.npy"});
}

TEST_F(UserMistake, a_broken_npy_file_is_named) {
  expect_error(tutti({"run", relu_engine(), "--input", "x=" + write("x.npy", std::string("not numpy"))}), 2,
               {"x.npy", "numpy.save"});
}

TEST_F(UserMistake, a_npy_type_that_is_no_number_is_shown) {
  expect_error(tutti({"run", relu_engine(), "--input", "x=" + zeros("x.npy", {2, 4}, "<U3", 12)}), 2, {"x.npy", "<U3"});
}

TEST_F(UserMistake, shapes_that_contradict_the_model_are_shown) {
  expect_error(tutti({"run", relu_engine(), "--random-inputs", "1", "--shapes", "x=1x3"}), 2,
               {"'x'", "[1,3]", "fixed to 4"});
}

TEST_F(UserMistake, malformed_shapes_show_the_form) {
  expect_error(tutti({"run", relu_engine(), "--random-inputs", "1", "--shapes", "x=1xfour"}), 1,
               {"1xfour", "1x3x224x224"});
}

TEST_F(UserMistake, shapes_of_an_unknown_input_list_the_inputs) {
  expect_error(tutti({"run", relu_engine(), "--random-inputs", "1", "--shapes", "z=1x4"}), 1,
               {"'z'", "x float32[n,4]"});
}

TEST_F(UserMistake, an_output_folder_that_cannot_be_made_is_named) {
  write("file", std::string("in the way"));
  expect_error(tutti({"run", relu_engine(), "--random-inputs", "1", "--output-dir", path("file/out")}), 2,
               {"file/out"});
}

}  // namespace
}  // namespace tutti::errors
