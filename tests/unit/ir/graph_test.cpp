#include "ir/graph.h"

#include <gtest/gtest.h>

#include "ir/builder.h"
#include "ir/infer.h"
#include "ir/verify.h"

namespace tutti::ir {
namespace {

Status same_as_first(InferContext& context) {
  for (int i = 0; i < context.output_count(); ++i) context.set_output(i, context.input(0));
  return {};
}
const OpDef kOne{.name = "One", .min_inputs = 1, .max_inputs = 1, .infer = same_as_first};
const OpDef kTwo{.name = "Two", .min_inputs = 2, .max_inputs = 2, .infer = same_as_first};

ValueType floats() { return ValueType::tensor(DType::kFloat32, Shape{Dim(4)}); }

std::vector<std::string> names(const Graph& graph) {
  std::vector<std::string> out;
  for (const NodeId id : graph.order()) out.push_back(graph.node(id).name);
  return out;
}

// x -> a -> b, and c = Two(a, b), the output.
Graph diamond() {
  Graph g;
  const ValueId x = g.add_input("x", floats());
  const NodeId a = g.add_node({.op = &kOne, .inputs = {x}, .output_names = {"va"}, .name = "a"});
  const NodeId b = g.add_node({.op = &kOne, .inputs = {g.node(a).outputs[0]}, .output_names = {"vb"}, .name = "b"});
  const NodeId c = g.add_node(
      {.op = &kTwo, .inputs = {g.node(a).outputs[0], g.node(b).outputs[0]}, .output_names = {"vc"}, .name = "c"});
  g.add_output("y", g.node(c).outputs[0]);
  EXPECT_TRUE(infer_graph(g).ok());
  return g;
}

TEST(Graph, a_new_node_may_be_inserted_anywhere) {
  Graph g = diamond();
  g.add_node({.op = &kOne, .inputs = {0}, .output_names = {"vd"}, .name = "d"}, g.order()[1]);
  EXPECT_EQ(names(g), (std::vector<std::string>{"a", "d", "b", "c"}));
}

TEST(Graph, every_element_of_a_variadic_input_is_required) {
  const OpDef any{.name = "Any", .min_inputs = 1, .max_inputs = kAnyCount, .infer = same_as_first};
  for (const bool first : {true, false}) {
    Graph g;
    const ValueId x = g.add_input("x", floats());
    g.add_node(
        {.op = &any, .inputs = {first ? kNoValue : x, first ? x : kNoValue}, .output_names = {"y"}, .name = "any"});
    const Status status = infer_graph(g);
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().text().find(first ? "input 0: found none" : "input 1: found none"), std::string::npos)
        << status.error().text();
  }
}

TEST(Graph, replacing_uses_moves_graph_outputs_too) {
  Graph g = diamond();
  const NodeId b = g.order()[1], c = g.order()[2];
  g.replace_uses(g.node(c).outputs[0], g.node(b).outputs[0]);
  g.remove_node(c);
  EXPECT_EQ(g.outputs()[0].value, g.node(b).outputs[0]);
  EXPECT_TRUE(g.has_single_use(g.node(g.order()[0]).outputs[0]));
  EXPECT_TRUE(verify_graph(g).ok());
}

TEST(Graph, sorting_repairs_the_order_and_keeps_what_is_right) {
  Graph g = diamond();
  g.move_before(g.order()[2], g.order()[0]);
  EXPECT_FALSE(verify_graph(g).ok());
  ASSERT_TRUE(g.sort_topologically().ok());
  EXPECT_EQ(names(g), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_TRUE(verify_graph(g).ok());
}

TEST(Graph, a_cycle_is_an_error_that_names_a_node_on_it) {
  Graph g = diamond();
  g.set_input(g.order()[0], 0, g.node(g.order()[1]).outputs[0]);
  const Status status = g.sort_topologically();
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message().find("cycle through node 'a' (One)"), std::string::npos);
}

TEST(Graph, a_clone_is_independent) {
  Graph g = diamond();
  Graph copy = g.clone();
  copy.replace_uses(copy.outputs()[0].value, copy.inputs()[0].value);
  copy.remove_node(copy.order()[2]);
  EXPECT_EQ(g.node_count(), 3);
  EXPECT_TRUE(verify_graph(g).ok());
  EXPECT_TRUE(verify_graph(copy).ok());
}

TEST(Infer, wrong_arity_names_the_node_and_both_counts) {
  Graph g;
  const ValueId x = g.add_input("x", floats());
  const NodeId id = g.add_node({.op = &kTwo, .inputs = {x}, .output_names = {"y"}, .name = "n1"});
  const Status status = infer_node(g, id);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().text(), "node 'n1' (Two) with inputs float32[4]: inputs: found 1, expected 2");
}

TEST(Builder, the_first_error_is_reported_at_the_end) {
  GraphBuilder b;
  const ValueId x = b.input("x", floats());
  b.output("y", b.node(kTwo, {b.node(kOne, {x})}));
  const auto graph = std::move(b).finish();
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.error().text().find("(Two)"), std::string::npos);
}

}  // namespace
}  // namespace tutti::ir
