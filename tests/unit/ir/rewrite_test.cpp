#include "ir/rewrite.h"

#include <gtest/gtest.h>

#include "ir/builder.h"
#include "ir/verify.h"

namespace tutti::ir {
namespace {

Status infer_same(InferContext& context) {
  context.set_output(0, context.input(0));
  return {};
}
Status infer_flat(InferContext& context) {
  context.set_output(0, context.dtype(0), {Dim(1)});
  return {};
}

const OpDef kOld{.name = "Old", .min_inputs = 1, .max_inputs = 2, .infer = infer_same};
const OpDef kNew{.name = "New", .min_inputs = 1, .max_inputs = 2, .infer = infer_same};
const OpDef kFlat{.name = "Flat", .min_inputs = 1, .max_inputs = 1, .infer = infer_flat};

ValueType vector_type() { return ValueType::tensor(DType::kFloat32, Shape{4}); }

// Old -> New.
std::optional<Patch> modernise(const Graph& graph, NodeId id) {
  Patch patch(graph, "modernise");
  patch.replace(graph.node(id).outputs[0], patch.node(kNew, graph.node(id).inputs));
  return patch;
}

Graph old_chain(int count) {
  GraphBuilder b;
  ValueId x = b.input("x", vector_type());
  for (int i = 0; i < count; ++i) x = b.node(kOld, {x});
  b.output("y", x);
  return std::move(b).finish().value();
}

TEST(Rewrite, replaces_to_a_fixpoint_and_keeps_names_and_origins) {
  Graph graph = old_chain(10);
  const ValueId last = graph.outputs()[0].value;
  const std::string value_name = graph.value(last).name, node_name = graph.producer(last)->name;
  const Rule rules[] = {{"modernise", {&kOld}, modernise}};
  Result<RewriteStats> stats = rewrite(graph, rules);
  ASSERT_TRUE(stats.ok()) << stats.error().text();
  EXPECT_EQ(stats->patches, 10);
  EXPECT_EQ(graph.node_count(), 10);
  ASSERT_TRUE(verify_graph(graph).ok());
  const Node& made = *graph.producer(graph.outputs()[0].value);
  EXPECT_EQ(made.op, &kNew);
  EXPECT_EQ(graph.value(graph.outputs()[0].value).name, value_name);
  EXPECT_EQ(made.origins, std::vector<std::string>{node_name});
}

TEST(Rewrite, stops_at_the_patch_limit) {
  Graph graph = old_chain(10);
  const Rule rules[] = {{"modernise", {&kOld}, modernise}};
  EXPECT_EQ(rewrite(graph, rules, {.patch_limit = 3})->patches, 3);
  EXPECT_TRUE(verify_graph(graph).ok());
}

TEST(Rewrite, refuses_a_replacement_of_another_type) {
  Graph graph = old_chain(1);
  const Rule rules[] = {{"flatten", {&kOld}, [](const Graph& g, NodeId id) {
                           Patch patch(g, "flatten");
                           patch.replace(g.node(id).outputs[0], patch.node(kFlat, g.node(id).inputs));
                           return std::optional(std::move(patch));
                         }}};
  Result<RewriteStats> stats = rewrite(graph, rules);
  ASSERT_FALSE(stats.ok());
  EXPECT_NE(stats.error().text().find("patch 'flatten'"), std::string::npos);
  EXPECT_NE(stats.error().message().find("float32[1]"), std::string::npos);
}

TEST(Rewrite, ends_rules_that_undo_each_other) {
  Graph graph = old_chain(2);
  const Rule rules[] = {{"forth", {&kOld}, modernise}, {"back", {&kNew}, [](const Graph& g, NodeId id) {
                                                          Patch patch(g, "back");
                                                          patch.replace(g.node(id).outputs[0],
                                                                        patch.node(kOld, g.node(id).inputs));
                                                          return std::optional(std::move(patch));
                                                        }}};
  Result<RewriteStats> stats = rewrite(graph, rules);
  ASSERT_FALSE(stats.ok());
  EXPECT_EQ(stats.error().code(), Code::kInternal);
}

// A value is replaced by one that is made later: the order must be mended.
TEST(Rewrite, sorts_when_a_replacement_stands_later) {
  GraphBuilder b;
  const ValueId x = b.input("x", vector_type());
  const ValueId early = b.node(kOld, {x}), user = b.node(kNew, {early}), late = b.node(kFlat, {x});
  const ValueId same = b.node(kNew, {x});
  b.output("a", user);
  b.output("b", late);
  b.output("c", same);
  Graph graph = std::move(b).finish().value();
  const Rule rules[] = {{"later", {&kOld}, [&](const Graph& g, NodeId id) {
                           Patch patch(g, "later");
                           patch.replace(g.node(id).outputs[0], same);
                           return std::optional(std::move(patch));
                         }}};
  ASSERT_TRUE(rewrite(graph, rules).ok());
  EXPECT_TRUE(verify_graph(graph).ok());
  EXPECT_EQ(graph.node_count(), 3);
}

TEST(Rewrite, removes_what_a_patch_leaves_dead) {
  Graph graph = old_chain(5);
  const ValueId x = graph.inputs()[0].value;
  const NodeId last = graph.value(graph.outputs()[0].value).producer;
  const Rule rules[] = {{"skip", {&kOld}, [&](const Graph& g, NodeId id) -> std::optional<Patch> {
                           if (id != last) return std::nullopt;
                           Patch patch(g, "skip");
                           patch.replace(g.node(id).outputs[0], patch.node(kNew, {x}));
                           return patch;
                         }}};
  ASSERT_TRUE(rewrite(graph, rules).ok());
  EXPECT_EQ(graph.node_count(), 1);
  EXPECT_TRUE(verify_graph(graph).ok());
}

}  // namespace
}  // namespace tutti::ir
