#include "exec/executor.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "ops/interpreter.h"
#include "support/graph_cases.h"

namespace tutti::exec {
namespace {

using testing::filled;
using testing::floats;
using testing::op;

// One executor with its run state, on reference kernels.
struct Running {
  explicit Running(ir::Graph g, ExecutorOptions options = {}) : graph(std::move(g)), executor(graph, {}, options) {}

  std::vector<ir::Datum> run(const std::vector<ir::Datum>& inputs) {
    auto result = executor.run(state, inputs);
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().text());
    return result.ok() ? std::move(result).value() : std::vector<ir::Datum>(graph.outputs().size());
  }

  ir::Graph graph;
  GraphExecutor executor;
  ThreadPool threads{1};
  MemoryBudget budget;
  RunState state{threads, budget};
};

void expect_same(const std::vector<ir::Datum>& found, const std::vector<ir::Datum>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_TRUE(testing::identical(found[i], expected[i])) << "output " << i;
}

TEST(Executor, gives_the_interpreters_results) {
  for (const testing::GraphCase& test : testing::graph_cases()) {
    SCOPED_TRACE(test.name);
    Running running(test.graph());
    for (const auto& inputs : test.inputs) {
      auto expected = ops::interpret(running.graph, inputs);
      ASSERT_TRUE(expected.ok()) << expected.error().text();
      expect_same(running.run(inputs), *expected);
      expect_same(running.run(inputs), *expected);
    }
  }
}

TEST(Executor, finds_the_programs_of_a_repeated_shape) {
  Running running(testing::dynamic_graph());
  running.run({filled({2, 3, 4}, 1)});
  running.run({filled({2, 5, 4}, 1)});
  EXPECT_EQ(running.executor.cache_stats().misses, 2);
  running.run({filled({2, 3, 4}, 2)});
  running.run({filled({2, 3, 4}, 3)});
  EXPECT_EQ(running.executor.cache_stats().misses, 2);
  EXPECT_EQ(running.executor.cache_stats().hits, 2);
  EXPECT_EQ(running.executor.cache_stats().programs, 2);
}

TEST(Executor, forgets_the_least_recently_used_shape_when_the_cache_is_full) {
  Running bounded(testing::dynamic_graph(), {.programs_per_stage = 2});
  for (const int64_t n : {1, 2, 1, 3}) bounded.run({filled({n, 2, 4}, 1)});
  EXPECT_EQ(bounded.executor.cache_stats().evictions, 1);
  EXPECT_EQ(bounded.executor.cache_stats().programs, 2);
  const int64_t misses = bounded.executor.cache_stats().misses;
  bounded.run({filled({1, 2, 4}, 1)});  // used after 2, so it is still there
  EXPECT_EQ(bounded.executor.cache_stats().misses, misses);
}

TEST(Executor, turns_shape_arithmetic_and_views_into_nothing) {
  Running running(testing::dynamic_graph());
  running.run({filled({2, 3, 4}, 1)});
  const ProgramPtr program = running.executor.programs().at(0).program;
  std::vector<std::string> ops;
  for (const Step& step : program->steps) ops.emplace_back(running.graph.node(step.node).op->name);
  EXPECT_EQ(ops, (std::vector<std::string>{"Tanh", "Exp", "Add"}));
  EXPECT_EQ(program->host_arithmetic.size(), 3u);  // Shape, Slice, Concat
  EXPECT_TRUE(program->remaining.empty());
}

TEST(Executor, counts_nodes_without_a_kernel_with_the_reason) {
  Running running(testing::static_graph());
  running.run({filled({2, 300}, 1)});
  const ProgramPtr program = running.executor.programs().at(0).program;
  ASSERT_EQ(program->fallbacks.size(), 4u);
  EXPECT_EQ(program->fallbacks[0].op, "Relu");
  ASSERT_EQ(program->fallbacks[0].refusals.size(), 1u);
  EXPECT_EQ(program->fallbacks[0].refusals[0].second, "no backend");
}

TEST(Executor, ends_a_stage_where_a_shape_depends_on_data) {
  Running running(testing::unique_graph());
  running.run({filled({20}, 1)});
  std::set<int32_t> stages;
  for (const ProgramOf& made : running.executor.programs()) stages.insert(made.program->stage);
  EXPECT_EQ(stages, (std::set<int32_t>{0, 1}));
}

TEST(Executor, knows_values_that_shapes_depend_on_before_the_stage_that_needs_them) {
  Running running(testing::reshape_by_input_graph());
  const ir::Tensor wide = ir::Tensor::from<int64_t>({2}, {2, 6}), tall = ir::Tensor::from<int64_t>({2}, {6, 2});
  EXPECT_EQ(running.run({filled({12}, 1), wide})[0].tensor().dims(), (ir::Dims{2, 6}));
  EXPECT_EQ(running.run({filled({12}, 1), tall})[0].tensor().dims(), (ir::Dims{6, 2}));
  for (const ProgramOf& made : running.executor.programs()) EXPECT_TRUE(made.program->host_steps.empty());
  const int64_t misses = running.executor.cache_stats().misses;
  running.run({filled({12}, 1), wide});
  EXPECT_EQ(running.executor.cache_stats().misses, misses);
}

TEST(Executor, writes_a_bound_output_in_place) {
  Running running(testing::static_graph());
  const std::vector<ir::Datum> inputs{filled({2, 300}, 5)};
  const auto expected = running.run(inputs);
  const std::vector<ir::Tensor> bound{ir::Tensor{}, ir::Tensor::zeros(ir::DType::kFloat32, {2, 300})};
  auto found = running.executor.run(running.state, inputs, bound);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ((*found)[1].tensor().raw(), bound[1].raw());
  EXPECT_TRUE(ir::identical(bound[1], expected[1].tensor()));
}

TEST(Executor, keeps_results_when_it_runs_again) {
  Running running(testing::sequence_graph());
  const std::vector<ir::Datum> first_inputs{filled({4, 3}, 1)};
  const auto first = running.run(first_inputs);
  running.run({filled({4, 3}, 99)});
  auto expected = ops::interpret(running.graph, first_inputs);
  ASSERT_TRUE(expected.ok());
  expect_same(first, *expected);
}

TEST(Executor, refuses_to_go_over_the_memory_limit_and_says_by_how_much) {
  Running running(testing::static_graph());
  MemoryBudget small(1000);
  RunState state(running.threads, small);
  const std::vector<ir::Datum> inputs{filled({2, 300}, 5)};
  auto result = running.executor.run(state, inputs);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), Code::kLimit);
  EXPECT_NE(result.error().text().find("limit of 1000 bytes"), std::string::npos) << result.error().text();
  EXPECT_EQ(small.used_bytes(), 0u);
}

TEST(Executor, shows_every_step_to_the_observer_with_data_that_match_the_reference) {
  for (const testing::GraphCase& test : testing::graph_cases()) {
    SCOPED_TRACE(test.name);
    Running running(test.graph());
    int64_t steps = 0;
    running.state.observer = [&](const StepEvent& event) -> Status {
      ++steps;
      const ir::Node& node = event.graph.node(event.node);
      if (!node.bodies.empty()) return {};
      auto expected = TUTTI_TRY(ops::evaluate({.op = *node.op,
                                               .attrs = node.attrs,
                                               .inputs = event.inputs,
                                               .output_count = static_cast<int>(node.outputs.size())}));
      for (size_t i = 0; i < expected.size(); ++i)
        if (node.outputs[i] != ir::kNoValue)
          EXPECT_TRUE(testing::identical(event.outputs[i], expected[i])) << node.op->name;
      return {};
    };
    running.run(test.inputs[0]);
    EXPECT_GT(steps, 0);
  }
}

TEST(Executor, names_the_node_that_fails) {
  ir::GraphBuilder b;
  const auto x = b.input("x", floats({ir::Dim::symbol("n")})), y = b.input("y", floats({ir::Dim::symbol("m")}));
  b.output("z", b.node(op("Add"), {x, y}));
  Running running(testing::finished(std::move(b)));
  const std::vector<ir::Datum> inputs{filled({3}, 1), filled({4}, 1)};
  auto result = running.executor.run(running.state, inputs);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().text().find("(Add)"), std::string::npos) << result.error().text();
}

TEST(Executor, runs_in_many_threads_at_once) {
  const std::vector<testing::GraphCase> cases = testing::graph_cases();
  for (const testing::GraphCase& test : cases) {
    SCOPED_TRACE(test.name);
    Running shared(test.graph());
    std::vector<std::vector<ir::Datum>> expected;
    for (const auto& inputs : test.inputs) expected.push_back(shared.run(inputs));
    std::vector<int> failures(8, 0);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < failures.size(); ++t)
      threads.emplace_back([&, t] {
        RunState state(shared.threads, shared.budget);
        for (size_t round = 0; round < 20; ++round) {
          const size_t which = (round + t) % test.inputs.size();
          auto found = shared.executor.run(state, test.inputs[which]);
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
}  // namespace tutti::exec
