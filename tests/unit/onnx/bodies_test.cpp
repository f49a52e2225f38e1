// Bodies, captures and model-local functions.
#include <gmock/gmock.h>

#include "ir/op_def.h"
#include "ir/verify.h"
#include "model_maker.h"
#include "ops/interpreter.h"

namespace tutti::onnx {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

GraphMaker body_of(pb::NodeProto& node, const std::string& name) {
  return GraphMaker(*attribute(node, name, pb::AttributeProto::GRAPH).mutable_g());
}

const ir::Node& last_node(const ir::Graph& graph) { return graph.node(graph.order().back()); }

TEST(Bodies, if_branches_take_all_captures_as_inputs_and_copy_constants) {
  ModelMaker m(17);
  m.graph.input("c", kBool, {}).input("x", kFloat, {2}).input("z", kFloat, {2}).output("y");
  m.graph.initializer("w", kFloat, {1}).add_float_data(1);
  pb::NodeProto& node = m.graph.node("If", {"c"}, {"y"});
  GraphMaker then_body = body_of(node, "then_branch"), else_body = body_of(node, "else_branch");
  then_body.node("Add", {"x", "w"}, {"r"});
  then_body.output("r");
  else_body.node("Relu", {"z"}, {"r"});
  else_body.output("r");
  const auto graph = m.import();
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  const ir::Node& made = last_node(*graph);
  EXPECT_THAT(made.inputs, SizeIs(3));
  for (const auto& body : made.bodies) EXPECT_THAT(body->inputs(), SizeIs(2));
  EXPECT_TRUE(ir::verify_graph(*graph).ok());
  const auto outputs =
      ops::interpret(*graph, std::vector<ir::Datum>{ir::Tensor::scalar(true), ir::Tensor::from<float>({2}, {1, 2}),
                                                    ir::Tensor::from<float>({2}, {3, 4})});
  ASSERT_TRUE(outputs.ok()) << outputs.error().text();
  EXPECT_EQ((*outputs)[0].tensor().to_float(), (std::vector<float>{2, 3}));
}

TEST(Bodies, captures_reach_through_two_levels) {
  ModelMaker m(17);
  m.graph.input("c", kBool, {}).input("x", kFloat, {2}).output("y");
  pb::NodeProto& outer = m.graph.node("If", {"c"}, {"y"});
  for (const char* name : {"then_branch", "else_branch"}) {
    GraphMaker body = body_of(outer, name);
    pb::NodeProto& inner = body.node("If", {"c"}, {"r"});
    body.output("r");
    for (const char* inner_name : {"then_branch", "else_branch"}) {
      GraphMaker leaf = body_of(inner, inner_name);
      leaf.node("Exp", {"x"}, {"s"});
      leaf.output("s");
    }
  }
  const auto graph = m.import();
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_TRUE(ir::verify_graph(*graph).ok()) << ir::verify_graph(*graph).error().text();
}

TEST(Bodies, loops_carry_values_and_stack_scans) {
  ModelMaker m(17);
  m.graph.input("x", kFloat, {1}).output("sum").output("all").ints("n", {3});
  pb::NodeProto& node = m.graph.node("Loop", {"trips", "", "x"}, {"sum", "all"});
  m.graph.initializer("trips", kInt64, {}).add_int64_data(3);
  GraphMaker body = body_of(node, "body");
  body.input("i", kInt64, {}).input("go", kBool, {}).input("s", kFloat, {1});
  body.node("Add", {"s", "x"}, {"t"});
  body.output("go").output("t").output("t");
  const auto graph = m.import();
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  const auto outputs = ops::interpret(*graph, std::vector<ir::Datum>{ir::Tensor::from<float>({1}, {2})});
  ASSERT_TRUE(outputs.ok()) << outputs.error().text();
  EXPECT_EQ((*outputs)[0].tensor().to_float(), std::vector<float>{8});
  EXPECT_EQ((*outputs)[1].tensor().to_float(), (std::vector<float>{4, 6, 8}));
}

TEST(Bodies, scans_see_slices) {
  ModelMaker m(17);
  m.graph.input("s", kFloat, {2}).input("x", kFloat, {3, 2}).output("last").output("all");
  pb::NodeProto& node = m.graph.node("Scan", {"s", "x"}, {"last", "all"});
  set_int(node, "num_scan_inputs", 1);
  GraphMaker body = body_of(node, "body");
  body.input("a", kFloat, {2}).input("b", kFloat, {2});
  body.node("Add", {"a", "b"}, {"c"});
  body.output("c").output("c");
  const auto graph = m.import();
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(graph->value(graph->outputs()[1].value).type.text(), "float32[3,2]");
}

TEST(Bodies, unsupported_nodes_inside_bodies_are_listed_too) {
  ModelMaker m(17);
  m.graph.input("c", kBool, {}).input("x", kFloat, {2}).output("y");
  m.graph.node("Nothing", {"x"}, {"n"});
  pb::NodeProto& node = m.graph.node("If", {"c"}, {"y"});
  for (const char* name : {"then_branch", "else_branch"}) {
    GraphMaker body = body_of(node, name);
    body.node("Never", {"n"}, {"r"});
    body.output("r");
  }
  ImportReport report;
  EXPECT_FALSE(m.import(&report).ok());
  EXPECT_THAT(report.unsupported, SizeIs(3));
}

TEST(Bodies, an_if_without_a_condition_is_an_error) {
  ModelMaker m(17);
  m.graph.input("x", kFloat, {2}).output("y");
  pb::NodeProto& node = m.graph.node("If", {"", "x"}, {"y"});
  for (const char* name : {"then_branch", "else_branch"}) body_of(node, name).output("x");
  EXPECT_THAT(m.import().error().text(), HasSubstr("input 0: found none, expected a value"));
}

// f(x; alpha) = LeakyRelu(x, alpha) with alpha = 0.5 unless given.
pb::FunctionProto& add_leaky(ModelMaker& m) {
  auto& domain = *m.model.add_opset_import();
  domain.set_domain("own"), domain.set_version(1);
  auto& function = *m.model.add_functions();
  function.set_name("Leaky"), function.set_domain("own");
  function.add_input("a"), function.add_output("b");
  function.add_opset_import()->set_version(17);
  auto& fallback = *function.add_attribute_proto();
  fallback.set_name("slope"), fallback.set_type(pb::AttributeProto::FLOAT), fallback.set_f(0.5f);
  auto& node = *function.add_node();
  node.set_op_type("LeakyRelu"), node.add_input("a"), node.add_output("b");
  auto& alpha = *node.add_attribute();
  alpha.set_name("alpha"), alpha.set_type(pb::AttributeProto::FLOAT), alpha.set_ref_attr_name("slope");
  return function;
}

TEST(Functions, are_inlined_with_their_attributes) {
  ModelMaker m(17);
  add_leaky(m);
  m.graph.input("x", kFloat, {1}).output("y").output("z");
  m.graph.node("Leaky", {"x"}, {"y"}).set_domain("own");
  pb::NodeProto& given = m.graph.node("Leaky", {"x"}, {"z"});
  given.set_domain("own");
  set_float(given, "slope", 0.25f);
  const auto graph = m.import();
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  const auto outputs = ops::interpret(*graph, std::vector<ir::Datum>{ir::Tensor::from<float>({1}, {-4})});
  ASSERT_TRUE(outputs.ok()) << outputs.error().text();
  EXPECT_EQ((*outputs)[0].tensor().to_float(), std::vector<float>{-2});
  EXPECT_EQ((*outputs)[1].tensor().to_float(), std::vector<float>{-1});
}

TEST(Functions, call_other_functions) {
  ModelMaker m(17);
  add_leaky(m);
  auto& outer = *m.model.add_functions();
  outer.set_name("Twice"), outer.set_domain("own");
  outer.add_input("a"), outer.add_output("c");
  for (const auto& [in, out] : {std::pair{"a", "b"}, {"b", "c"}}) {
    auto& node = *outer.add_node();
    node.set_op_type("Leaky"), node.set_domain("own"), node.add_input(in), node.add_output(out);
  }
  m.graph.input("x", kFloat, {1}).output("y");
  m.graph.node("Twice", {"x"}, {"y"}).set_domain("own");
  ImportReport report;
  const auto graph = m.import(&report);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(graph->node_count(), 2);
  EXPECT_EQ(report.node_count, 5) << "calls and what they stand for";
}

TEST(Functions, name_the_call_in_errors) {
  ModelMaker m(17);
  add_leaky(m);
  m.graph.input("x", kFloat, {1}).output("y");
  m.graph.node("Leaky", {"x", "x"}, {"y"}).set_domain("own");
  EXPECT_THAT(m.import().error().text(), HasSubstr("node 'Leaky_0' (Leaky): found 2 inputs, expected at most 1"));
}

}  // namespace
}  // namespace tutti::onnx
