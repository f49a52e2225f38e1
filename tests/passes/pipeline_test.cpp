#include <chrono>
#include <filesystem>

#include <gtest/gtest.h>

#include "compile/compiler.h"
#include "ir/builder.h"
#include "ir/text.h"
#include "ops/op_list.h"

namespace tutti::compile {
namespace {

using ir::GraphBuilder;
using ir::ValueId;

const ir::OpDef& op(std::string_view name) { return *ops::find_op(name); }

// x, then `count` nodes, each on the one before: Identity, Neg, Add 0, Relu by turns.
ir::Graph chain(int count) {
  GraphBuilder b;
  ValueId x = b.input("x", ir::ValueType::tensor(ir::DType::kFloat32, ir::Shape{4}));
  const ValueId zero = b.scalar(0.0f);
  for (int i = 0; i < count; ++i) {
    if (i % 4 == 0)
      x = b.node(op("Identity"), {x});
    else if (i % 4 == 1)
      x = b.node(op("Neg"), {x});
    else if (i % 4 == 2)
      x = b.node(op("Add"), {x, zero});
    else
      x = b.node(op("Relu"), {x});
  }
  b.output("y", x);
  return std::move(b).finish().value();
}

// One value with `count` users, whose results are summed.
ir::Graph fan(int count, std::string_view user) {
  GraphBuilder b;
  const ValueId x = b.input("x", ir::ValueType::tensor(ir::DType::kFloat32, ir::Shape{4}));
  std::vector<ValueId> all;
  for (int i = 0; i < count; ++i) all.push_back(b.node(op(user), {b.node(op(i % 2 ? "Identity" : "Relu"), {x})}));
  b.output("y", b.node(op("Sum"), all));
  return std::move(b).finish().value();
}

double seconds_to_optimize(ir::Graph graph) {
  const auto start = std::chrono::steady_clock::now();
  CompileReport report;
  const Status status = optimize(graph, {}, &report);
  EXPECT_TRUE(status.ok()) << status.error().text();
  for (const PassReport& pass : report.passes)
    if (pass.milliseconds > 300)
      std::printf("  %s: %.0f ms, %lld patches\n", pass.name.c_str(), pass.milliseconds,
                  static_cast<long long>(pass.patches));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Quadratic work on 100,000 nodes would take minutes; the bound leaves room for slow machines and sanitizers.
TEST(Pipeline, takes_seconds_on_a_chain_of_100000_nodes) { EXPECT_LT(seconds_to_optimize(chain(100'000)), 20); }
TEST(Pipeline, takes_seconds_on_a_fan_of_100000_neutral_nodes) {
  EXPECT_LT(seconds_to_optimize(fan(100'000, "Identity")), 20);
}
TEST(Pipeline, takes_seconds_on_a_fan_of_100000_equal_nodes) {
  EXPECT_LT(seconds_to_optimize(fan(100'000, "Neg")), 20);
}

TEST(Pipeline, takes_seconds_on_100000_constants_that_fold) {
  GraphBuilder b;
  ValueId x = b.scalar(1.0f);
  for (int i = 0; i < 100'000; ++i) x = b.node(op("Neg"), {x});
  b.output("y", b.node(op("Add"), {b.input("x", ir::ValueType::tensor(ir::DType::kFloat32, ir::Shape{4})), x}));
  EXPECT_LT(seconds_to_optimize(std::move(b).finish().value()), 20);
}

TEST(Pipeline, names_the_passes_when_a_disabled_one_is_unknown) {
  ir::Graph graph = chain(4);
  const Status status = optimize(graph, {.disabled_passes = {"fuse_everything"}}, nullptr);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), Code::kUsage);
  EXPECT_NE(status.error().message().find("'fuse_everything'"), std::string::npos);
  EXPECT_NE(status.error().message().find("fold_constants"), std::string::npos);
}

TEST(Pipeline, leaves_out_disabled_passes) {
  ir::Graph graph = chain(4);
  CompileReport report;
  ASSERT_TRUE(optimize(graph, {.disabled_passes = {"canonicalize", "cancel"}}, &report).ok());
  for (const PassReport& pass : report.passes) EXPECT_NE(pass.name, "canonicalize");
  EXPECT_EQ(graph.node_count(), 4);
}

TEST(Pipeline, stops_after_the_given_number_of_patches) {
  ir::Graph all = chain(40), some = chain(40);
  CompileReport full, stopped;
  ASSERT_TRUE(optimize(all, {}, &full).ok());
  ASSERT_GT(full.patches, 5);
  ASSERT_TRUE(optimize(some, {.stop_after_patch = 5}, &stopped).ok());
  EXPECT_EQ(stopped.patches, 5);
  EXPECT_EQ(some.node_count(), 35);
}

TEST(Pipeline, reports_each_pass_with_its_rules) {
  ir::Graph graph = chain(8);
  CompileReport report;
  ASSERT_TRUE(optimize(graph, {}, &report).ok());
  EXPECT_EQ(report.passes.size(), pipeline().size());
  int64_t patches = 0;
  for (const PassReport& pass : report.passes) {
    patches += pass.patches;
    if (pass.name != "canonicalize") continue;
    EXPECT_EQ(pass.nodes_before, 8);
    EXPECT_EQ(pass.nodes_after, 4);
    EXPECT_EQ(pass.by_rule.size(), 2u);
  }
  EXPECT_EQ(patches, report.patches);
}

TEST(Pipeline, writes_the_graph_after_each_pass) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "tutti_dump_ir";
  std::filesystem::remove_all(folder);
  ir::Graph graph = chain(4);
  ASSERT_TRUE(optimize(graph, {.dump_ir = folder.string()}, nullptr).ok());
  EXPECT_TRUE(std::filesystem::exists(folder / "00_input.txt"));
  EXPECT_TRUE(std::filesystem::exists(folder / "01_dead_code.txt"));
  std::filesystem::remove_all(folder);
}

TEST(Pipeline, refuses_a_dump_folder_that_cannot_be_made) {
  ir::Graph graph = chain(4);
  const Status status = optimize(graph, {.dump_ir = "/proc/no/such"}, nullptr);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), Code::kIo);
}

}  // namespace
}  // namespace tutti::compile
