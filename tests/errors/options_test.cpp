// The command line is wrong, or asks for what is not here.
#include "errors/support.h"

namespace tutti::errors {
namespace {

TEST_F(UserMistake, an_unknown_subcommand_points_to_help) {
  expect_error(tutti({"compile", "m.onnx"}), 1, {"'compile'", "hint: tutti --help"});
}

TEST_F(UserMistake, no_threads_is_refused) {
  expect_error(tutti({"bench", relu_model(), "--threads", "0"}), 1, {"--threads"});
}

TEST_F(UserMistake, an_option_below_zero_is_refused) {
  expect_error(tutti({"build", relu_model(), "--budget", "-1"}), 2, {"--budget", "-1"});
  expect_error(tutti({"build", relu_model(), "--stop-after-patch", "-1"}), 1, {"--stop-after-patch", "-1"});
}

TEST_F(UserMistake, a_gpu_that_is_not_in_this_build_is_a_device_error) {
  expect_error(tutti({"run", relu_model(), "--random-inputs", "1", "--device", "cuda:0"}), 4, {"cuda:0", "cpu"});
}

TEST_F(UserMistake, an_unknown_device_lists_the_kinds) {
  expect_error(tutti({"run", relu_model(), "--random-inputs", "1", "--device", "tpu"}), 1,
               {"tpu", "auto, cpu or cuda"});
}

TEST_F(UserMistake, a_precision_that_is_not_offered_is_refused) {
  expect_error(tutti({"build", relu_model(), "--precision", "int8"}), 2, {"int8", "fp32"});
}

TEST_F(UserMistake, an_unknown_verification_level_lists_the_levels) {
  expect_error(tutti({"build", relu_model(), "--verify", "sometimes"}), 1, {"sometimes", "off, fast or full"});
}

TEST_F(UserMistake, an_unknown_pass_lists_the_passes) {
  expect_error(tutti({"build", relu_model(), "--disable-pass", "magic"}), 1, {"magic", "fold_constants"});
}

TEST_F(UserMistake, a_malformed_size_shows_the_form) {
  expect_error(tutti({"build", relu_model(), "--memory-limit", "lots"}), 1, {"lots", "800M"});
}

TEST_F(UserMistake, too_little_memory_is_a_limit_error_with_the_numbers) {
  expect_error(tutti({"run", relu_engine(), "--random-inputs", "1", "--shapes", "x=100000x4", "--memory-limit", "64K"}),
               5, {"65536"});
}

TEST_F(UserMistake, the_engine_may_not_replace_its_model) {
  expect_error(tutti({"build", relu_model(), "-o", path("relu.onnx")}), 1, {"-o"});
}

TEST_F(UserMistake, a_folder_that_does_not_exist_is_named) {
  expect_error(tutti({"build", relu_model(), "-o", path("no/such/relu.tutti")}), 2, {"no/such"});
}

TEST_F(UserMistake, a_full_disk_leaves_the_old_engine_in_place) {
  const std::string engine = relu_engine();
  const auto size = std::filesystem::file_size(engine);
  const std::string command =
      std::string("ulimit -f 1; trap '' XFSZ; ") + TUTTI_PROGRAM + " build " +
      write("big.onnx",
            [] {
              auto model = model_with_input();
              add_float_initializer(model, "w", {4, 100000}).set_raw_data(std::string(1600000, 'a'));
              add_node(model, "MatMul", {"x", "w"}, "y");
              add_output(model, "y");
              return model;
            }()) +
      " -o " + engine + " 2>" + path("err");
  EXPECT_NE(std::system(("bash -c \"" + command + "\"").c_str()), 0);
  EXPECT_EQ(std::filesystem::file_size(engine), size);
  EXPECT_EQ(tutti({"run", engine, "--random-inputs", "1"}).exit_code, 0);
}

TEST_F(UserMistake, with_json_an_error_is_one_document) {
  const Answer answer = tutti({"build", path("no.onnx"), "--json"});
  EXPECT_EQ(answer.exit_code, 2);
  for (const char* part : {"\"error\"", "\"code\": \"not_found\"", "\"message\"", "\"hint\"", "\"where\""})
    EXPECT_NE(answer.out.find(part), std::string::npos) << answer.out;
}

}  // namespace
}  // namespace tutti::errors
