// Engines built and run through the C++ owners over the C interface.
#include <gtest/gtest.h>
#include <tutti/build.hpp>
#include <tutti/tutti.hpp>

#include <thread>

#include "support/temp_dir.h"
#include "unit/capi/small_models.h"

namespace {

using tutti::testing::TempDir;

static_assert(std::is_move_constructible_v<tutti::Engine> && !std::is_copy_constructible_v<tutti::Engine>);
static_assert(std::is_move_constructible_v<tutti::Context> && !std::is_copy_constructible_v<tutti::Context>);

// An engine in a folder of its own, which goes with it.
struct Built {
  explicit Built(const std::string& model, int threads = 1) {
    tutti::build(folder.write("m.onnx", model), folder.file("m.tutti"), {}, &report);
    tutti::EngineOptions options;
    options.threads = threads;
    engine.emplace(folder.file("m.tutti"), options);
  }
  const TempDir folder;
  std::string report;
  std::optional<tutti::Engine> engine;
};

TEST(CppApi, describes_what_an_engine_takes_and_gives) {
  const Built built(tutti::testing::relu_model());
  const auto inputs = built.engine->inputs(), outputs = built.engine->outputs();
  ASSERT_EQ(inputs.size(), 1u);
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(inputs[0].name, "x");
  EXPECT_EQ(inputs[0].dtype, TUTTI_FLOAT32);
  EXPECT_EQ(inputs[0].dims, (std::vector<int64_t>{-1, 3}));
  EXPECT_EQ(inputs[0].symbols, (std::vector<std::string>{"n", ""}));
  EXPECT_FALSE(inputs[0].is_sequence || inputs[0].is_optional);
  EXPECT_EQ(outputs[0].name, "y");
  EXPECT_EQ(outputs[0].dims, (std::vector<int64_t>{-1, 3}));
  EXPECT_EQ(built.engine->output_index("y"), 0u);
  EXPECT_EQ(built.engine->metadata().at("author"), "Zoë");
  try {
    built.engine->input_index("picture");
    FAIL();
  } catch (const tutti::Error& error) {
    EXPECT_EQ(error.code(), TUTTI_ERROR_NOT_FOUND);
    EXPECT_STREQ(error.what(), "input 'picture': found no input of this name, expected one of: x");
  }
}

TEST(CppApi, says_what_a_build_did) {
  const Built built(tutti::testing::relu_model());
  EXPECT_NE(built.report.find("verification: fast, "), std::string::npos) << built.report;
  EXPECT_NE(built.report.find("m.tutti: 1 nodes -> 1 nodes"), std::string::npos) << built.report;
}

TEST(CppApi, runs_whatever_sizes_come) {
  const Built built(tutti::testing::relu_model());
  tutti::Context context(*built.engine);
  for (const int64_t n : {2, 1, 0, 5}) {
    std::vector<float> input(static_cast<size_t>(n * 3)), expected;
    for (size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i) - 2;
    for (const float value : input) expected.push_back(value > 0 ? value : 0);
    context.set_input(0, input, {n, 3});
    context.run();
    EXPECT_EQ(context.output(0).dims(), (std::vector<int64_t>{n, 3}));
    EXPECT_EQ(context.output(0).to_vector<float>(), expected);
  }
  EXPECT_THROW(context.output(0).data<int64_t>(), tutti::Error);
}

TEST(CppApi, writes_into_the_callers_memory) {
  for (const auto& model : {tutti::testing::relu_model(), tutti::testing::unique_model()}) {
    const Built built(model);
    tutti::Context context(*built.engine);
    const std::vector<float> input = {1, 2, 3};
    const bool is_relu = model == tutti::testing::relu_model();
    context.set_input(0, input, is_relu ? std::vector<int64_t>{1, 3} : std::vector<int64_t>{3});
    std::vector<float> buffer(4, -1);
    context.bind_output(0, buffer);
    for (int run = 0; run < 2; ++run) {
      std::fill(buffer.begin(), buffer.end(), -1.0f);
      context.run();
      EXPECT_EQ(context.output(0).raw(), buffer.data());
      EXPECT_EQ(buffer, (std::vector<float>{1, 2, 3, -1}));
    }
    context.unbind_output(0);
    context.run();
    EXPECT_NE(context.output(0).raw(), buffer.data());
    EXPECT_EQ(context.output(0).to_vector<float>(), input);
  }
}

TEST(CppApi, takes_and_gives_strings) {
  const Built built(tutti::testing::string_model());
  tutti::Context context(*built.engine);
  context.set_strings(0, {"ab", "", "Zoë"}, {3});
  context.run();
  EXPECT_EQ(context.output(0).strings(), (std::vector<std::string>{"abab", "", "ZoëZoë"}));
  std::vector<char> buffer(64);
  EXPECT_THROW(context.bind_output(0, buffer), tutti::Error);
}

TEST(CppApi, lets_a_context_outlive_its_engine) {
  Built built(tutti::testing::add_model());
  tutti::Context context(*built.engine);
  built.engine.reset();
  const std::vector<float> x = {1, 2}, y = {3, 5};
  context.set_input(0, x, {2});
  context.set_input(1, y, {2});
  context.run();
  EXPECT_EQ(context.output(0).to_vector<float>(), (std::vector<float>{4, 7}));
  EXPECT_EQ(context.output(1).to_vector<float>(), (std::vector<float>{3, 10}));
}

TEST(CppApi, carries_code_and_hint_in_its_exceptions) {
  try {
    const tutti::Engine engine("/nonexistent/m.tutti");
    FAIL();
  } catch (const tutti::Error& error) {
    EXPECT_EQ(error.code(), TUTTI_ERROR_NOT_FOUND);
    EXPECT_NE(std::string(error.what()).find("/nonexistent/m.tutti"), std::string::npos) << error.what();
  }
}

TEST(CppApi, serves_eight_threads_from_one_engine) {
  const Built built(tutti::testing::add_model(), 2);
  std::vector<int> wrong(8, 0);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      tutti::Context context(*built.engine);
      for (size_t run = 0; run < 50; ++run) {
        const auto n = static_cast<int64_t>(1 + (run + t) % 7);
        const std::vector<float> x(static_cast<size_t>(n), static_cast<float>(t)), y(static_cast<size_t>(n), 2);
        context.set_input(0, x, {n});
        context.set_input(1, y, {n});
        context.run();
        const std::vector<float> sum(static_cast<size_t>(n), static_cast<float>(t) + 2);
        wrong[t] += context.output(0).to_vector<float>() == sum ? 0 : 1;
        // A wrong call from one thread leaves the others alone.
        try {
          context.output(9);
          ++wrong[t];
        } catch (const tutti::Error&) {
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(8, 0));
}

}  // namespace
