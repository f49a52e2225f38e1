// One engine, many threads: the caches, the pool and the packed weights that its contexts share.
#include <gtest/gtest.h>

#include <thread>

#include "builtin/backends.h"
#include "runtime/context.h"
#include "support/graph_cases.h"

namespace tutti::runtime {
namespace {

using testing::filled;
using testing::op;

constexpr size_t kThreads = 8;

ir::ValueId conv(ir::GraphBuilder& b, ir::ValueId x, ir::Dims weights, int64_t group) {
  const auto attrs = ir::make_attrs_of(op("Conv"), {{"group", group}, {"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  TUTTI_CHECK(attrs.ok(), "{}", attrs.error().text());
  const auto w = b.constant(filled(std::move(weights), static_cast<uint64_t>(group)));
  return b.node(op("Relu"), {b.node(op("Conv"), {x, w}, *attrs)});
}

// Three kinds of convolution, each with a kernel of its own, a norm and a matrix product, over a batch known at run
// time only.
ir::Graph small_network() {
  ir::GraphBuilder b;
  const auto x = b.input("x", testing::floats({ir::Dim::symbol("n"), 4, 5, 8}));
  const auto plain = conv(b, x, {8, 4, 3, 3}, 1);
  const auto depthwise = conv(b, plain, {8, 1, 3, 3}, 8);
  const auto grouped = conv(b, depthwise, {8, 2, 3, 3}, 4);
  const auto norm = b.node(op("LayerNormalization"), {grouped, b.constant(filled({8}, 2)), b.constant(filled({8}, 3))});
  const auto product = b.node(op("MatMul"), {norm, b.constant(filled({8, 12}, 4))});
  b.output("y", b.node(op("Softmax"), {product}));
  return testing::finished(std::move(b));
}

EnginePtr engine_with(const EngineOptions& options) {
  auto plan = std::make_shared<engine::Plan>();
  plan->graph = small_network();
  auto engine = Engine::create(std::move(plan), options);
  TUTTI_CHECK(engine.ok(), "{}", engine.error().text());
  return std::move(engine).value();
}

struct Batch {
  std::vector<ir::Datum> inputs, expected;
};

// Batches of different sizes with what one context on one thread makes of them.
std::vector<Batch> make_batches(const backend::Backend& backend) {
  ExecutionContext context(engine_with({.threads = 1, .backend = &backend}));
  std::vector<Batch> batches;
  for (const int64_t n : {1, 2, 3, 5}) {
    Batch batch{.inputs = {filled({n, 4, 5, 8}, static_cast<uint64_t>(n))}, .expected = {}};
    auto result = context.run(batch.inputs);
    TUTTI_CHECK(result.ok(), "{}", result.error().text());
    batch.expected = std::move(result).value();
    batches.push_back(std::move(batch));
  }
  return batches;
}

// Runs of each thread that failed or differed in a bit.
std::vector<int> run_on_threads(const EnginePtr& engine, const std::vector<Batch>& batches, size_t runs) {
  std::vector<int> wrong(kThreads, 0);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      ExecutionContext context(engine);
      for (size_t run = 0; run < runs; ++run) {
        const Batch& batch = batches[(run + t) % batches.size()];
        auto found = context.run(batch.inputs);
        wrong[t] += found.ok() && testing::identical((*found)[0], batch.expected[0]) ? 0 : 1;
      }
    });
  for (std::thread& thread : threads) thread.join();
  return wrong;
}

TEST(EngineOnManyThreads, equals_the_single_thread_bit_by_bit_in_a_thousand_runs_each) {
  const auto backend = builtin::select_backend("cpu");
  ASSERT_TRUE(backend.ok()) << backend.error().text();
  const std::vector<Batch> batches = make_batches(**backend);
  const EnginePtr engine = engine_with({.threads = 2, .backend = backend->get()});
  EXPECT_EQ(run_on_threads(engine, batches, 1000), std::vector<int>(kThreads, 0));
  EXPECT_TRUE(ExecutionContext(engine).fallbacks().empty()) << "a reference kernel ran: the fast ones are to be tested";
  EXPECT_EQ(engine->stats().cache.programs, static_cast<int64_t>(batches.size()));
}

TEST(EngineOnManyThreads, stays_right_while_programs_are_evicted_under_running_contexts) {
  const auto backend = builtin::select_backend("cpu");
  ASSERT_TRUE(backend.ok()) << backend.error().text();
  const std::vector<Batch> batches = make_batches(**backend);
  const EnginePtr engine = engine_with({.threads = 2, .backend = backend->get(), .programs_per_stage = 1});
  EXPECT_EQ(run_on_threads(engine, batches, 25), std::vector<int>(kThreads, 0));
  EXPECT_GT(engine->stats().cache.evictions, 0);
}

}  // namespace
}  // namespace tutti::runtime
