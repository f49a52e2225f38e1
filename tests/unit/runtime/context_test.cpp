#include "runtime/context.h"

#include <gtest/gtest.h>

#include <thread>

#include "ops/interpreter.h"
#include "support/graph_cases.h"
#include "support/temp_dir.h"

namespace tutti::runtime {
namespace {

using testing::filled;

EnginePtr engine_of(ir::Graph graph, const EngineOptions& options = {}) {
  auto plan = std::make_shared<engine::Plan>();
  plan->graph = std::move(graph);
  auto engine = Engine::create(std::move(plan), options);
  TUTTI_CHECK(engine.ok());
  return std::move(engine).value();
}

std::string run_error(ExecutionContext& context, const std::vector<ir::Datum>& inputs) {
  auto result = context.run(inputs);
  EXPECT_FALSE(result.ok());
  return result.ok() ? "" : result.error().text() + "\n" + result.error().hint();
}

TEST(ExecutionContext, runs_a_saved_engine_as_the_interpreter_does) {
  const testing::TempDir folder;
  for (const testing::GraphCase& test : testing::graph_cases()) {
    SCOPED_TRACE(test.name);
    engine::Plan plan;
    plan.graph = test.graph();
    ASSERT_TRUE(engine::save_engine(plan, folder.file("m.tutti")).ok());
    auto engine = Engine::load(folder.file("m.tutti"));
    ASSERT_TRUE(engine.ok()) << engine.error().text();
    ExecutionContext context(*engine);
    for (const auto& inputs : test.inputs) {
      auto expected = ops::interpret(plan.graph, inputs);
      auto found = context.run(inputs);
      ASSERT_TRUE(expected.ok() && found.ok()) << (found.ok() ? "" : found.error().text());
      for (size_t i = 0; i < expected->size(); ++i) EXPECT_TRUE(testing::identical((*expected)[i], (*found)[i]));
    }
  }
}

TEST(ExecutionContext, names_the_input_that_does_not_fit) {
  ExecutionContext context(engine_of(testing::dynamic_graph()));
  EXPECT_NE(run_error(context, {}).find("inputs: found 0, expected 1"), std::string::npos);
  EXPECT_NE(run_error(context, {}).find("'x' float32[n,m,4]"), std::string::npos);
  const std::string rank = run_error(context, {filled({2, 4}, 1)});
  EXPECT_NE(rank.find("input 'x': found float32[2,4], expected float32[n,m,4]"), std::string::npos) << rank;
  EXPECT_NE(rank.find("give 3 dimensions"), std::string::npos) << rank;
  const std::string dim = run_error(context, {filled({2, 3, 5}, 1)});
  EXPECT_NE(dim.find("dimension 2 must be 4"), std::string::npos) << dim;
  const std::string type = run_error(context, {ir::Tensor::zeros(ir::DType::kInt64, {2, 3, 4})});
  EXPECT_NE(type.find("convert the data to float32"), std::string::npos) << type;
}

TEST(ExecutionContext, wants_one_value_per_symbol) {
  ir::GraphBuilder b;
  const auto n = ir::Dim::symbol("n");
  const auto x = b.input("x", testing::floats({n})), y = b.input("y", testing::floats({n}));
  b.output("z", b.node(testing::op("Add"), {x, y}));
  ExecutionContext context(engine_of(testing::finished(std::move(b))));
  const std::string error = run_error(context, {filled({2}, 1), filled({3}, 1)});
  EXPECT_NE(error.find("input 'y'"), std::string::npos) << error;
  EXPECT_NE(error.find("dimension 0 is 'n', which input 'x' has set to 2"), std::string::npos) << error;
}

TEST(ExecutionContext, takes_and_gives_data_by_name) {
  ExecutionContext context(engine_of(testing::static_graph()));
  auto found = context.run(std::map<std::string, ir::Datum>{{"x", filled({2, 300}, 1)}});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->count("sum"), 1u);
  EXPECT_EQ(found->count("y"), 1u);
  auto wrong = context.run(std::map<std::string, ir::Datum>{{"q", filled({2, 300}, 1)}});
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().text().find("input 'q': found no input of this name, expected one of: x"), std::string::npos)
      << wrong.error().text();
}

TEST(ExecutionContext, writes_into_the_callers_buffers) {
  ExecutionContext context(engine_of(testing::dynamic_graph()));
  const std::vector<ir::Datum> inputs{filled({2, 3, 4}, 1)};
  auto expected = context.run(inputs);
  const std::vector<ir::Tensor> outputs{ir::Tensor::zeros(ir::DType::kFloat32, {2, 3, 4})};
  auto found = context.run(inputs, {.outputs = outputs});
  ASSERT_TRUE(expected.ok() && found.ok());
  EXPECT_EQ((*found)[0].tensor().raw(), outputs[0].raw());
  EXPECT_TRUE(ir::identical(outputs[0], (*expected)[0].tensor()));
  const std::vector<ir::Tensor> wrong{ir::Tensor::zeros(ir::DType::kFloat32, {2, 3, 5})};
  EXPECT_FALSE(context.run(inputs, {.outputs = wrong}).ok());
}

TEST(ExecutionContext, keeps_its_arena_from_run_to_run) {
  ExecutionContext context(engine_of(testing::static_graph()));
  const std::vector<ir::Datum> inputs{filled({2, 300}, 1)};
  ASSERT_TRUE(context.run(inputs).ok());
  const size_t bytes = context.stats().arena_bytes;
  EXPECT_GT(bytes, 0u);
  ASSERT_TRUE(context.run(inputs).ok());
  EXPECT_EQ(context.stats().arena_bytes, bytes);
  EXPECT_EQ(context.stats().engine.memory_used_bytes, bytes);
}

TEST(ExecutionContext, gives_memory_back_when_it_goes) {
  const EnginePtr engine = engine_of(testing::static_graph());
  {
    ExecutionContext context(engine);
    ASSERT_TRUE(context.run(std::vector<ir::Datum>{filled({2, 300}, 1)}).ok());
  }
  EXPECT_EQ(engine->stats().memory_used_bytes, 0u);
}

TEST(ExecutionContext, profiles_each_step_when_asked) {
  ExecutionContext context(engine_of(testing::static_graph()));
  const std::vector<ir::Datum> inputs{filled({2, 300}, 1)};
  ASSERT_TRUE(context.run(inputs).ok());
  EXPECT_TRUE(context.profile().empty());
  context.enable_profiling();
  ASSERT_TRUE(context.run(inputs).ok());
  ASSERT_EQ(context.profile().size(), 4u);
  EXPECT_EQ(context.profile()[0].op, "Relu");
  EXPECT_EQ(context.profile()[0].kernel, "reference");
}

TEST(ExecutionContext, stops_before_it_allocates_more_than_the_limit) {
  ExecutionContext context(engine_of(testing::static_graph(), {.memory_limit_bytes = 1000}));
  auto result = context.run(std::vector<ir::Datum>{filled({2, 300}, 1)});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), Code::kLimit);
}

TEST(ExecutionContext, gives_the_same_results_from_many_threads) {
  for (const testing::GraphCase& test : testing::graph_cases()) {
    SCOPED_TRACE(test.name);
    const EnginePtr engine = engine_of(test.graph(), {.threads = 2});
    ExecutionContext single(engine);
    std::vector<std::vector<ir::Datum>> expected;
    for (const auto& inputs : test.inputs) {
      auto result = single.run(inputs);
      ASSERT_TRUE(result.ok()) << result.error().text();
      expected.push_back(std::move(result).value());
    }
    std::vector<int> failures(8, 0);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < failures.size(); ++t)
      threads.emplace_back([&, t] {
        ExecutionContext context(engine);
        for (size_t round = 0; round < 20; ++round) {
          const size_t which = (round + t) % test.inputs.size();
          auto found = context.run(test.inputs[which]);
          bool same = found.ok();
          for (size_t i = 0; same && i < found->size(); ++i) same = testing::identical((*found)[i], expected[which][i]);
          failures[t] += same ? 0 : 1;
        }
      });
    for (std::thread& thread : threads) thread.join();
    for (const int failed : failures) EXPECT_EQ(failed, 0);
  }
}

}  // namespace
}  // namespace tutti::runtime
