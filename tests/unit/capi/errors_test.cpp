// What the C interface says when it is called wrongly.
#include <gtest/gtest.h>
#include <tutti/build.h>
#include <tutti/tutti.h>

#include <fstream>
#include <string>

#include "support/temp_dir.h"
#include "unit/capi/small_models.h"

namespace tutti::testing {
namespace {

// The last call's code and texts; given to calls as their last parameter.
class Failure {
 public:
  ~Failure() { tutti_error_destroy(error_); }
  tutti_error** out() {
    tutti_error_destroy(error_);
    error_ = nullptr;
    return &error_;
  }
  tutti_code code() const { return tutti_error_code(error_); }
  std::string text() const { return tutti_error_text(error_); }
  std::string hint() const { return tutti_error_hint(error_); }

 private:
  tutti_error* error_ = nullptr;
};

#define EXPECT_FAILS(call, wanted_code, wanted_text)                                  \
  do {                                                                                \
    EXPECT_EQ(call, wanted_code);                                                     \
    EXPECT_EQ(failure.code(), wanted_code);                                           \
    EXPECT_NE(failure.text().find(wanted_text), std::string::npos) << failure.text(); \
  } while (false)

class CApi : public ::testing::Test {
 protected:
  ~CApi() override {
    tutti_context_destroy(context);
    tutti_engine_destroy(engine);
  }
  std::string build(const std::string& model) {
    const std::string path = folder.write("m.onnx", model);
    EXPECT_EQ(tutti_build(path.c_str(), folder.file("m.tutti").c_str(), nullptr, nullptr, failure.out()), TUTTI_OK)
        << failure.text();
    return folder.file("m.tutti");
  }
  void open(const std::string& model) {
    tutti_engine_options options = TUTTI_ENGINE_OPTIONS_INIT;
    options.threads = 1;
    ASSERT_EQ(tutti_engine_load(build(model).c_str(), &options, &engine, failure.out()), TUTTI_OK) << failure.text();
    ASSERT_EQ(tutti_context_create(engine, &context, failure.out()), TUTTI_OK) << failure.text();
  }
  tutti_code load(const std::string& path, const tutti_engine_options* options = nullptr) {
    return tutti_engine_load(path.c_str(), options, &engine, failure.out());
  }
  tutti_code set(size_t index, tutti_dtype dtype, const std::vector<int64_t>& dims, const void* data, size_t bytes) {
    tutti_tensor tensor = TUTTI_TENSOR_INIT;
    tensor.dtype = dtype;
    tensor.rank = static_cast<int32_t>(dims.size());
    tensor.dims = dims.data();
    tensor.data = data;
    tensor.size_bytes = bytes;
    return tutti_context_set_input(context, index, &tensor, failure.out());
  }

  const TempDir folder;
  Failure failure;
  tutti_engine* engine = nullptr;
  tutti_context* context = nullptr;
  const std::vector<float> floats = {-1, 2, -3, 4, -5, 6};
};

TEST_F(CApi, has_the_version_of_its_headers) {
  EXPECT_EQ(tutti_api_version(), TUTTI_API_VERSION);
  EXPECT_EQ(tutti_version(), std::to_string(TUTTI_VERSION_MAJOR) + "." + std::to_string(TUTTI_VERSION_MINOR) + "." +
                                 std::to_string(TUTTI_VERSION_PATCH));
  EXPECT_EQ(tutti_check_api_version(TUTTI_API_VERSION, failure.out()), TUTTI_OK);
  EXPECT_FAILS(tutti_check_api_version(TUTTI_API_VERSION + 1, failure.out()), TUTTI_ERROR_VERSION,
               "C interface: found a caller of version 0.2, expected 0.0 to 0.1");
  EXPECT_FAILS(tutti_check_api_version(1u << 16, failure.out()), TUTTI_ERROR_VERSION, "caller of version 1.0");
}

TEST_F(CApi, names_codes_and_types) {
  EXPECT_STREQ(tutti_code_name(TUTTI_OK), "ok");
  EXPECT_STREQ(tutti_code_name(TUTTI_ERROR_INVALID_INPUT), "invalid_input");
  EXPECT_STREQ(tutti_code_name(TUTTI_ERROR_OUT_OF_MEMORY), "out_of_memory");
  EXPECT_STREQ(tutti_code_name(TUTTI_ERROR_INTERNAL), "internal");
  EXPECT_STREQ(tutti_code_name(14), "unknown");
  EXPECT_STREQ(tutti_dtype_name(TUTTI_BFLOAT16), "bfloat16");
  EXPECT_STREQ(tutti_dtype_name(TUTTI_INT2), "int2");
  EXPECT_STREQ(tutti_dtype_name(-1), "unknown");
  EXPECT_STREQ(tutti_dtype_name(27), "unknown");
}

TEST_F(CApi, makes_errors_for_other_libraries) {
  tutti_error* made = tutti_error_create(TUTTI_ERROR_IO, "disk: found none", "plug one in");
  EXPECT_EQ(tutti_error_code(made), TUTTI_ERROR_IO);
  EXPECT_STREQ(tutti_error_text(made), "disk: found none");
  EXPECT_STREQ(tutti_error_hint(made), "plug one in");
  tutti_error_destroy(made);
  made = tutti_error_create(TUTTI_ERROR_OUT_OF_MEMORY, nullptr, nullptr);
  EXPECT_STREQ(tutti_error_text(made), "out of memory");
  tutti_error_destroy(made);
  EXPECT_EQ(tutti_error_code(nullptr), TUTTI_OK);
  EXPECT_STREQ(tutti_error_text(nullptr), "");
}

TEST_F(CApi, refuses_null_handles_by_name) {
  EXPECT_FAILS(tutti_engine_load(nullptr, nullptr, &engine, failure.out()), TUTTI_ERROR_USAGE,
               "tutti_engine_load: path: found NULL");
  EXPECT_FAILS(tutti_engine_load("x", nullptr, nullptr, failure.out()), TUTTI_ERROR_USAGE, "engine: found NULL");
  tutti_port port = TUTTI_PORT_INIT;
  EXPECT_FAILS(tutti_engine_input(nullptr, 0, &port, failure.out()), TUTTI_ERROR_USAGE, "engine: found NULL");
  EXPECT_FAILS(tutti_context_create(nullptr, &context, failure.out()), TUTTI_ERROR_USAGE,
               "tutti_context_create: engine: found NULL");
  EXPECT_FAILS(tutti_context_run(nullptr, 0, failure.out()), TUTTI_ERROR_USAGE,
               "tutti_context_run: context: found NULL");
  EXPECT_FAILS(tutti_build("m.onnx", nullptr, nullptr, nullptr, failure.out()), TUTTI_ERROR_USAGE,
               "tutti_build: engine_path: found NULL");
  EXPECT_EQ(tutti_context_run(nullptr, 0, nullptr), TUTTI_ERROR_USAGE);  // nobody wants the text
  EXPECT_EQ(tutti_engine_input_count(nullptr), 0u);
  EXPECT_EQ(tutti_engine_memory_bytes(nullptr), 0u);
  tutti_engine_destroy(nullptr);
  tutti_context_destroy(nullptr);
  tutti_build_report_destroy(nullptr);
}

TEST_F(CApi, says_why_an_engine_cannot_be_loaded) {
  EXPECT_FAILS(load(folder.file("none.tutti")), TUTTI_ERROR_NOT_FOUND, folder.file("none.tutti"));
  EXPECT_FAILS(load(folder.write("text.tutti", "not an engine")), TUTTI_ERROR_INVALID_INPUT, "text.tutti");
  const std::string path = build(relu_model());
  std::string bytes = read_text(path);
  EXPECT_FAILS(load(folder.write("short.tutti", bytes.substr(0, bytes.size() / 2))), TUTTI_ERROR_CORRUPT, "truncated");
  bytes[8] = 99;  // the format version
  EXPECT_FAILS(load(folder.write("newer.tutti", bytes)), TUTTI_ERROR_VERSION, "engine format: found version 99");
  EXPECT_NE(failure.hint().find("update Tutti"), std::string::npos) << failure.hint();
  EXPECT_EQ(engine, nullptr);
}

TEST_F(CApi, refuses_options_that_it_does_not_understand) {
  const std::string path = build(relu_model());
  tutti_engine_options options = TUTTI_ENGINE_OPTIONS_INIT;
  options.threads = -1;
  EXPECT_FAILS(load(path, &options), TUTTI_ERROR_USAGE, "options.threads: found -1, expected 0 to 4096");
  options.threads = 1 << 30;
  EXPECT_FAILS(load(path, &options), TUTTI_ERROR_USAGE, "options.threads: found 1073741824");
  options.threads = 1;
  options.device = "abacus";
  EXPECT_FAILS(load(path, &options), TUTTI_ERROR_USAGE, "'abacus'");
  options.device = "cuda";
  EXPECT_FAILS(load(path, &options), TUTTI_ERROR_DEVICE, "no such device");
  options.struct_size = 0;
  EXPECT_FAILS(load(path, &options), TUTTI_ERROR_USAGE, "options: found struct_size 0");
  struct {
    tutti_engine_options known = TUTTI_ENGINE_OPTIONS_INIT;
    uint64_t later = 0;
  } newer;
  newer.known.struct_size = sizeof newer;
  newer.later = 1;
  EXPECT_FAILS(load(path, &newer.known), TUTTI_ERROR_VERSION, "that this library does not know");
  newer.later = 0;
  EXPECT_EQ(load(path, &newer.known), TUTTI_OK) << failure.text();
}

TEST_F(CApi, refuses_tensors_that_do_not_fit) {
  open(relu_model());
  EXPECT_FAILS(set(1, TUTTI_FLOAT32, {2, 3}, floats.data(), 24), TUTTI_ERROR_USAGE,
               "input: found index 1, expected less than 1");
  EXPECT_FAILS(set(0, TUTTI_INT32, {2, 3}, floats.data(), 24), TUTTI_ERROR_INVALID_INPUT,
               "input 'x': found int32[2,3], expected float32[n,3]");
  EXPECT_EQ(failure.hint(), "convert the data to float32");
  EXPECT_FAILS(set(0, TUTTI_FLOAT32, {6}, floats.data(), 24), TUTTI_ERROR_INVALID_INPUT, "found float32[6]");
  EXPECT_EQ(failure.hint(), "give 2 dimensions");
  EXPECT_FAILS(set(0, TUTTI_FLOAT32, {3, 2}, floats.data(), 24), TUTTI_ERROR_INVALID_INPUT, "found float32[3,2]");
  EXPECT_EQ(failure.hint(), "dimension 1 must be 3");
  EXPECT_FAILS(set(0, TUTTI_FLOAT32, {-2, 3}, floats.data(), 24), TUTTI_ERROR_USAGE, "tensor.dims[0]: found -2");
  EXPECT_FAILS(set(0, TUTTI_FLOAT32, {INT64_MAX / 4, 3}, floats.data(), 24), TUTTI_ERROR_LIMIT,
               "a tensor that fits in memory");
  EXPECT_FAILS(set(0, TUTTI_FLOAT32, {2, 3}, floats.data(), 20), TUTTI_ERROR_USAGE,
               "tensor.size_bytes: found 20, expected 24 for float32[2,3]");
  EXPECT_FAILS(set(0, TUTTI_FLOAT32, {2, 3}, nullptr, 24), TUTTI_ERROR_USAGE, "tensor.data: found NULL");
  EXPECT_FAILS(set(0, 77, {2, 3}, floats.data(), 24), TUTTI_ERROR_USAGE, "tensor.dtype: found 77");
  const char* unaligned = reinterpret_cast<const char*>(floats.data()) + 1;
  EXPECT_FAILS(set(0, TUTTI_FLOAT32, {1, 3}, unaligned, 12), TUTTI_ERROR_USAGE, "expected a multiple of 4 for float32");
}

TEST_F(CApi, refuses_runs_without_inputs_and_outputs_without_runs) {
  open(add_model());
  EXPECT_FAILS(tutti_context_run(context, 0, failure.out()), TUTTI_ERROR_INVALID_INPUT, "input 'x': found nothing");
  tutti_tensor tensor = TUTTI_TENSOR_INIT;
  EXPECT_FAILS(tutti_context_output(context, 0, &tensor, failure.out()), TUTTI_ERROR_USAGE,
               "output 0: found no run that succeeded");
  ASSERT_EQ(set(0, TUTTI_FLOAT32, {2}, floats.data(), 8), TUTTI_OK) << failure.text();
  ASSERT_EQ(set(1, TUTTI_FLOAT32, {3}, floats.data(), 12), TUTTI_OK) << failure.text();
  EXPECT_FAILS(tutti_context_run(context, 0, failure.out()), TUTTI_ERROR_INVALID_INPUT, "input 'y': found float32[3]");
  EXPECT_NE(failure.hint().find("which input 'x' has set to 2"), std::string::npos) << failure.hint();
  ASSERT_EQ(set(1, TUTTI_FLOAT32, {2}, floats.data(), 8), TUTTI_OK);
  ASSERT_EQ(tutti_context_run(context, 0, failure.out()), TUTTI_OK) << failure.text();
  EXPECT_FAILS(tutti_context_output(context, 2, &tensor, failure.out()), TUTTI_ERROR_USAGE, "found index 2");
  EXPECT_EQ(tutti_context_output(context, 1, &tensor, failure.out()), TUTTI_OK);
  ASSERT_EQ(tutti_context_set_input(context, 1, nullptr, failure.out()), TUTTI_OK);
  EXPECT_FAILS(tutti_context_run(context, 0, failure.out()), TUTTI_ERROR_INVALID_INPUT, "input 'y': found nothing");
  EXPECT_EQ(tutti_context_output(context, 1, &tensor, failure.out()), TUTTI_ERROR_USAGE);  // the run failed
}

TEST_F(CApi, refuses_buffers_that_are_too_small) {
  std::vector<float> small(5);
  for (const std::string& model : {relu_model(), unique_model()}) {
    tutti_context_destroy(std::exchange(context, nullptr));
    tutti_engine_destroy(std::exchange(engine, nullptr));
    open(model);
    const std::vector<int64_t> dims = model == relu_model() ? std::vector<int64_t>{2, 3} : std::vector<int64_t>{6};
    ASSERT_EQ(set(0, TUTTI_FLOAT32, dims, floats.data(), 24), TUTTI_OK) << failure.text();
    ASSERT_EQ(tutti_context_bind_output(context, 0, small.data(), 20, failure.out()), TUTTI_OK);
    EXPECT_FAILS(tutti_context_run(context, 0, failure.out()), TUTTI_ERROR_INVALID_INPUT,
                 "found a buffer of 20 bytes, expected 24 for float32[");
    ASSERT_EQ(tutti_context_bind_output(context, 0, nullptr, 0, failure.out()), TUTTI_OK);
    EXPECT_EQ(tutti_context_run(context, 0, failure.out()), TUTTI_OK) << failure.text();
  }
  EXPECT_FAILS(tutti_context_bind_output(context, 0, nullptr, 4, failure.out()), TUTTI_ERROR_USAGE, "found NULL");
}

TEST_F(CApi, says_that_it_has_no_sequences) {
  open(sequence_model());
  tutti_port port = TUTTI_PORT_INIT;
  ASSERT_EQ(tutti_engine_output(engine, 0, &port, failure.out()), TUTTI_OK);
  EXPECT_NE(port.is_sequence, 0);
  ASSERT_EQ(set(0, TUTTI_FLOAT32, {6}, floats.data(), 24), TUTTI_OK) << failure.text();
  ASSERT_EQ(tutti_context_run(context, 0, failure.out()), TUTTI_OK) << failure.text();
  tutti_tensor tensor = TUTTI_TENSOR_INIT;
  EXPECT_FAILS(tutti_context_output(context, 0, &tensor, failure.out()), TUTTI_ERROR_UNSUPPORTED,
               "output 'both': found a sequence of 2 tensors");
}

TEST_F(CApi, keeps_to_the_memory_limit) {
  const std::string path = build(relu_model());
  tutti_engine_options options = TUTTI_ENGINE_OPTIONS_INIT;
  options.memory_limit_bytes = 1000;
  ASSERT_EQ(load(path, &options), TUTTI_OK) << failure.text();
  ASSERT_EQ(tutti_context_create(engine, &context, failure.out()), TUTTI_OK);
  const std::vector<float> many(30000);
  ASSERT_EQ(set(0, TUTTI_FLOAT32, {10000, 3}, many.data(), 120000), TUTTI_OK) << failure.text();
  EXPECT_EQ(tutti_context_run(context, 0, failure.out()), TUTTI_ERROR_LIMIT) << failure.text();
}

TEST_F(CApi, reports_every_node_that_cannot_be_built) {
  const std::string path =
      folder.write("odd.onnx", onnx_model({{"x", 1, {"3"}}}, {{"Frobnicate", {"x"}, {"y"}}}, {"y"}));
  tutti_build_report* report = nullptr;
  EXPECT_FAILS(tutti_build(path.c_str(), folder.file("odd.tutti").c_str(), nullptr, &report, failure.out()),
               TUTTI_ERROR_UNSUPPORTED, "odd.onnx");
  EXPECT_NE(std::string(tutti_build_report_text(report)).find("unsupported: node 'Frobnicate_0'"), std::string::npos)
      << tutti_build_report_text(report);
  tutti_build_report_destroy(report);
  EXPECT_FALSE(std::ifstream(folder.file("odd.tutti")).good());
}

TEST_F(CApi, refuses_builds_that_make_no_sense) {
  const std::string path = folder.write("m.onnx", relu_model());
  EXPECT_FAILS(tutti_build(path.c_str(), path.c_str(), nullptr, nullptr, failure.out()), TUTTI_ERROR_USAGE,
               "found the model's own path");
  EXPECT_FAILS(tutti_build(folder.file("none.onnx").c_str(), "e.tutti", nullptr, nullptr, failure.out()),
               TUTTI_ERROR_NOT_FOUND, "none.onnx");
  tutti_build_options options = TUTTI_BUILD_OPTIONS_INIT;
  options.verify = 7;
  EXPECT_FAILS(tutti_build(path.c_str(), "e.tutti", &options, nullptr, failure.out()), TUTTI_ERROR_USAGE,
               "options.verify: found 7");
  options.verify = TUTTI_VERIFY_FULL;
  options.shapes = "x=2xfour";
  EXPECT_NE(tutti_build(path.c_str(), "e.tutti", &options, nullptr, failure.out()), TUTTI_OK);
  EXPECT_NE(failure.text().find("options.shapes"), std::string::npos) << failure.text();
  options.shapes = "x=2x4";
  EXPECT_NE(tutti_build(path.c_str(), folder.file("e.tutti").c_str(), &options, nullptr, failure.out()), TUTTI_OK);
  EXPECT_NE(failure.text().find("[n,3]"), std::string::npos) << failure.text();
}

}  // namespace
}  // namespace tutti::testing
