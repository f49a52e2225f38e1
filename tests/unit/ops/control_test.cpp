#include "ops/control.h"

#include <gtest/gtest.h>

#include <chrono>

#include "ir/infer.h"
#include "ops/interpreter.h"
#include "ops/sequence.h"
#include "ops/view.h"
#include "unit/ops/eval_support.h"

namespace tutti::ops {
namespace {

using ir::DType;
using ir::Graph;
using ir::Tensor;
using ir::ValueType;

// A loop whose body hands its carried value through and gives it out as a scan output.
struct LoopGraph {
  Graph graph;
  ir::NodeId loop;
};

LoopGraph make_loop(int64_t trips) {
  auto body = std::make_unique<Graph>();
  body->add_input("i", {});
  const auto cond = body->add_input("cond", {});
  const auto state = body->add_input("state", {});
  body->add_output("cond", cond);
  body->add_output("state", state);
  body->add_output("scan", state);
  LoopGraph out;
  const auto limit = out.graph.add_constant("trips", Tensor::scalar<int64_t>(trips));
  const auto x = out.graph.add_input("x", ValueType::tensor(DType::kFloat32, ir::Shape{ir::Dim(2)}));
  LoopAttrs attrs;
  attrs.carried = 1;
  ir::NodeSpec spec{.op = &kLoop, .attrs = attrs, .inputs = {limit, ir::kNoValue, x}, .output_names = {"last", "all"}};
  spec.bodies.push_back(std::move(body));
  out.loop = out.graph.add_node(std::move(spec));
  for (ir::ValueId value : out.graph.node(out.loop).outputs) out.graph.add_output(out.graph.value(value).name, value);
  return out;
}

TEST(Loop, knows_the_length_of_its_scan_outputs_when_the_trip_count_is_constant) {
  LoopGraph made = make_loop(3);
  const Status status = ir::infer_graph(made.graph);
  ASSERT_TRUE(status.ok()) << status.error().text();
  EXPECT_EQ(made.graph.value(made.graph.outputs()[1].value).type.text(), "float32[3,2]");
}

TEST(Loop, stacks_its_scan_outputs) {
  LoopGraph made = make_loop(2);
  ASSERT_TRUE(ir::infer_graph(made.graph).ok());
  const ir::Datum input(Tensor::from<float>({2}, {1, 2}));
  auto out = interpret(made.graph, std::span(&input, 1));
  ASSERT_TRUE(out.ok()) << out.error().text();
  EXPECT_EQ((*out)[1].tensor().to_float(), (std::vector<float>{1, 2, 1, 2}));
}

TEST(Loop, gives_empty_scan_outputs_of_the_right_type_when_it_never_runs) {
  LoopGraph made = make_loop(0);
  ASSERT_TRUE(ir::infer_graph(made.graph).ok());
  const ir::Datum input(Tensor::from<float>({2}, {1, 2}));
  auto out = interpret(made.graph, std::span(&input, 1));
  ASSERT_TRUE(out.ok()) << out.error().text();
  EXPECT_EQ((*out)[1].tensor().type_text(), "float32[0,2]");
}

// Loops inside loops; the innermost doubles what it is given, so that its size varies on every level.
ir::NodeId add_nested_loop(Graph& graph, ir::ValueId limit, ir::ValueId x, int levels) {
  auto body = std::make_unique<Graph>();
  body->add_input("i", {});
  const auto cond = body->add_input("cond", {});
  const auto state = body->add_input("state", {});
  const auto trips = body->add_input("trips", {});
  ir::NodeId made;
  if (levels == 1)
    made =
        body->add_node({.op = &kConcat, .attrs = ConcatAttrs{}, .inputs = {state, state}, .output_names = {"twice"}});
  else
    made = add_nested_loop(*body, trips, state, levels - 1);
  body->add_output("cond", cond);
  body->add_output("state", body->node(made).outputs[0]);
  LoopAttrs attrs;
  attrs.carried = 1;
  ir::NodeSpec spec{.op = &kLoop, .attrs = attrs, .inputs = {limit, ir::kNoValue, x, limit}, .output_names = {"last"}};
  spec.bodies.push_back(std::move(body));
  return graph.add_node(std::move(spec));
}

std::string nested_loop_type(int levels) {
  Graph graph;
  const auto limit = graph.add_constant("trips", Tensor::scalar<int64_t>(1));
  const auto x = graph.add_input("x", ValueType::tensor(DType::kFloat32, ir::Shape{ir::Dim(2), ir::Dim(3)}));
  const auto loop = add_nested_loop(graph, limit, x, levels);
  const Status status = ir::infer_graph(graph);
  EXPECT_TRUE(status.ok()) << status.error().text();
  return graph.value(graph.node(loop).outputs[0]).type.text();
}

TEST(Loop, infers_few_levels_exactly_and_many_in_a_bounded_number_of_steps) {
  EXPECT_TRUE(nested_loop_type(3).ends_with(",3]")) << nested_loop_type(3);  // only the doubled dim is open
  EXPECT_TRUE(nested_loop_type(5).starts_with("float32[")) << nested_loop_type(5);
  const auto start = std::chrono::steady_clock::now();
  nested_loop_type(30);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

TEST(If, needs_its_condition) {
  Graph graph;
  const auto x = graph.add_input("x", ValueType::tensor(DType::kFloat32, ir::Shape{ir::Dim(2)}));
  ir::NodeSpec spec{.op = &kIf, .inputs = {ir::kNoValue, x}, .output_names = {"y"}};
  for (int i = 0; i < 2; ++i) {
    spec.bodies.push_back(std::make_unique<Graph>());
    spec.bodies.back()->add_output("y", spec.bodies.back()->add_input("x", {}));
  }
  graph.add_node(std::move(spec));
  const Status status = ir::infer_graph(graph);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().text().find("found none, expected one bool"), std::string::npos) << status.error().text();
}

TEST(Sequence, inserts_at_positions_counted_from_either_end_and_refuses_others) {
  const ir::Datum::Sequence two{Tensor::scalar(1.0f), Tensor::scalar(2.0f)};
  auto out = run_op(kSequenceInsert, {two, Tensor::scalar(9.0f), Tensor::scalar<int64_t>(-1)});
  ASSERT_TRUE(out.ok()) << out.error().text();
  EXPECT_EQ((*out)[0].sequence()[1].get_double(0), 9);
  EXPECT_FALSE(run_op(kSequenceInsert, {two, Tensor::scalar(9.0f), Tensor::scalar<int64_t>(3)}).ok());
  EXPECT_FALSE(run_op(kSequenceAt, {two, Tensor::scalar<int64_t>(2)}).ok());
}

TEST(SplitToSequence, makes_a_short_last_part) {
  auto out = run_op(kSplitToSequence, {Tensor::from<float>({5}, {1, 2, 3, 4, 5}), Tensor::scalar<int64_t>(2)});
  ASSERT_TRUE(out.ok()) << out.error().text();
  ASSERT_EQ((*out)[0].sequence().size(), 3u);
  EXPECT_EQ((*out)[0].sequence()[2].to_float(), (std::vector<float>{5}));
}

}  // namespace
}  // namespace tutti::ops
