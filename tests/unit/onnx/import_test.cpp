#include "onnx/import.h"

#include <gmock/gmock.h>

#include <chrono>

#include "ir/op_def.h"
#include "ir/verify.h"
#include "model_maker.h"

namespace tutti::onnx {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

std::string output_type(const ir::Graph& graph, size_t i = 0) {
  return graph.value(graph.outputs()[i].value).type.text();
}
std::string failure(const ModelMaker& maker) {
  const auto graph = maker.import();
  return graph.ok() ? "no error" : graph.error().text();
}

TEST(Import, infers_types_and_keeps_names_and_metadata) {
  ModelMaker m(17);
  m.graph.input("x", kFloat, {2, 3}).output("y");
  m.graph.node("Relu", {"x"}, {"y"});
  m.model.set_producer_name("maker");
  auto& entry = *m.model.add_metadata_props();
  entry.set_key("labels"), entry.set_value("a,b");
  ImportReport report;
  const auto graph = m.import(&report);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(output_type(*graph), "float32[2,3]");
  EXPECT_EQ(graph->outputs()[0].name, "y");
  EXPECT_EQ(graph->metadata().at("labels"), "a,b");
  EXPECT_EQ(graph->metadata().at("onnx.producer_name"), "maker");
  EXPECT_EQ(graph->metadata().at("onnx.opset.ai.onnx"), "17");
  EXPECT_EQ(report.node_count, 1);
  EXPECT_THAT(report.source_sha256, SizeIs(64));
  EXPECT_TRUE(ir::verify_graph(*graph).ok());
}

TEST(Import, makes_symbols_of_named_and_unnamed_dims) {
  ModelMaker m(17);
  m.graph.input("x", kFloat, {-1, 3}).output("y");
  m.graph.proto().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_param(
      "past len+1");
  m.graph.node("Relu", {"x"}, {"y"});
  const auto graph = m.import();
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  const ir::Shape& shape = *graph->value(graph->inputs()[0].value).type.shape;
  EXPECT_TRUE(shape[0].symbol_name().has_value());
  EXPECT_EQ(shape[2].symbol_name(), "past_len_1");
}

TEST(Import, sorts_nodes_that_are_out_of_order) {
  ModelMaker m(17);
  m.graph.input("x", kFloat, {2}).output("z");
  m.graph.node("Exp", {"y"}, {"z"});
  m.graph.node("Relu", {"x"}, {"y"});
  const auto graph = m.import();
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(graph->node(graph->first_node()).op->name, "Relu");
}

TEST(Import, names_the_nodes_of_a_cycle) {
  ModelMaker m(17);
  m.graph.output("a");
  m.graph.node("Exp", {"b"}, {"a"});
  m.graph.node("Relu", {"a"}, {"b"});
  EXPECT_THAT(failure(m), HasSubstr("cycle: found 2 nodes on it or after it ('Exp_0' (Exp), 'Relu_1' (Relu))"));
}

TEST(Import, refuses_names_that_are_made_twice) {
  ModelMaker two_nodes(17);
  two_nodes.graph.input("x", kFloat, {2}).output("y");
  two_nodes.graph.node("Exp", {"x"}, {"y"});
  two_nodes.graph.node("Relu", {"x"}, {"y"});
  EXPECT_THAT(failure(two_nodes), HasSubstr("value 'y': found two nodes"));
  ModelMaker input_again(17);
  input_again.graph.input("x", kFloat, {2}).output("x");
  input_again.graph.node("Exp", {"x"}, {"x"});
  EXPECT_FALSE(input_again.import().ok());
}

TEST(Import, says_which_input_nothing_defines) {
  ModelMaker m(17);
  m.graph.output("y");
  m.graph.node("Relu", {"nope"}, {"y"});
  EXPECT_THAT(failure(m), HasSubstr("node 'Relu_0' (Relu): input 0: found the name 'nope', which nothing defines"));
}

TEST(Import, lists_every_unsupported_node_at_once) {
  ModelMaker m(17);
  m.graph.input("x", kFloat, {2}).output("d");
  m.graph.node("Reluu", {"x"}, {"a"});
  m.graph.node("Relu", {"a"}, {"b"});
  m.graph.node("Swish", {"b"}, {"c"});
  m.graph.node("Thing", {"c"}, {"d"}).set_domain("my.own");
  ImportReport report;
  const auto graph = m.import(&report);
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().code(), Code::kUnsupported);
  ASSERT_THAT(report.unsupported, SizeIs(3));
  EXPECT_THAT(report.unsupported[0].hint, HasSubstr("Relu"));
  EXPECT_THAT(report.unsupported[1].hint, HasSubstr("opset 24"));
  EXPECT_EQ(report.unsupported[2].domain, "my.own");
  EXPECT_THAT(graph.error().message(), HasSubstr("3 nodes cannot be imported"));
}

TEST(Import, reports_attributes_that_an_operator_does_not_have) {
  ModelMaker m(17);
  m.graph.input("x", kFloat, {2}).output("y");
  set_int(m.graph.node("Relu", {"x"}, {"y"}), "sharpness", 3);
  EXPECT_THAT(failure(m), HasSubstr("attribute 'sharpness' is not known"));
}

TEST(Import, ignores_value_infos_that_are_wrong) {
  ModelMaker m(17);
  m.graph.input("x", kFloat, {2, 3}).output("z");
  m.graph.node("Relu", {"x"}, {"y"});
  m.graph.node("Exp", {"y"}, {"z"});
  auto& info = *m.graph.proto().add_value_info();
  info.set_name("y");
  info.mutable_type()->mutable_tensor_type()->set_elem_type(kInt64);
  m.graph.proto().mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(kInt64);
  ImportReport report;
  const auto graph = m.import(&report);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(output_type(*graph), "float32[2,3]");
  EXPECT_THAT(report.warnings, SizeIs(1));
}

TEST(Import, takes_an_initializer_that_is_also_an_input_as_a_constant) {
  ModelMaker m(17);
  m.graph.input("x", kFloat, {1}).input("w", kFloat, {1}).output("y");
  m.graph.initializer("w", kFloat, {1}).add_float_data(3);
  m.graph.node("Add", {"x", "w"}, {"y"});
  EXPECT_THAT(m.import()->inputs(), SizeIs(1));
  EXPECT_THAT(m.import(nullptr, {.overridable_initializers = true})->inputs(), SizeIs(2));
}

TEST(Import, tolerates_unused_domains_and_outputs_that_are_inputs_or_initializers) {
  ModelMaker m(17);
  auto& domain = *m.model.add_opset_import();
  domain.set_domain("never.used"), domain.set_version(3);
  m.graph.input("x", kFloat, {}).output("x").output("w");
  m.graph.initializer("w", kFloat, {0}).mutable_dims();
  const auto graph = m.import();
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(output_type(*graph, 0), "float32[]");
  EXPECT_EQ(output_type(*graph, 1), "float32[0]");
}

TEST(Import, reads_optional_inputs_that_are_left_out) {
  ModelMaker m(13);
  m.graph.input("x", kFloat, {2}).output("y");
  m.graph.initializer("hi", kFloat, {}).add_float_data(6);
  m.graph.node("Clip", {"x", "", "hi"}, {"y"});
  const auto graph = m.import();
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(graph->node(graph->first_node()).inputs[1], ir::kNoValue);
}

TEST(Import, imports_a_chain_of_100000_nodes_quickly) {
  ModelMaker m(17);
  constexpr int kNodes = 100'000;
  m.graph.input("v0", kFloat, {4});
  for (int i = kNodes - 1; i >= 0; --i) m.graph.node("Relu", {"v" + std::to_string(i)}, {"v" + std::to_string(i + 1)});
  m.graph.output("v" + std::to_string(kNodes));
  const std::string bytes = m.model.SerializeAsString();
  const auto start = std::chrono::steady_clock::now();
  const auto graph = import_model_bytes(as_bytes(bytes), {});
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(graph->node_count(), kNodes);
  EXPECT_LT(seconds.count(), 20) << "quadratic behaviour would take minutes";
}

TEST(Import, says_that_a_file_is_no_model) {
  for (const std::string& bytes : {std::string(), std::string("PK\x03\x04 not a model"),
                                   std::string("version https://git-lfs.github.com/spec/v1")}) {
    const auto graph = import_model_bytes(as_bytes(bytes), {});
    ASSERT_FALSE(graph.ok());
    EXPECT_THAT(graph.error().text(), HasSubstr("not an ONNX file"));
  }
  EXPECT_EQ(import_model("/nonexistent/model.onnx").error().code(), Code::kNotFound);
}

}  // namespace
}  // namespace tutti::onnx
