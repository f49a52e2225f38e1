// Broken bytes give errors, never crashes.
#include <gmock/gmock.h>

#include <random>

#include "model_maker.h"

namespace tutti::onnx {
namespace {

// A little of everything: tensors, attributes, a body with a capture, a function.
std::string busy_model() {
  ModelMaker m(17);
  m.graph.input("x", kFloat, {-1, 4}).input("c", kBool, {}).output("y").output("z");
  m.graph.initializer("w", kFloat, {4}).set_raw_data(std::string(16, '\x11'));
  m.graph.ints("shape", {-1, 2});
  m.graph.node("Add", {"x", "w"}, {"s"});
  set_int(m.graph.node("Softmax", {"s"}, {"p"}), "axis", 1);
  m.graph.node("Reshape", {"p", "shape"}, {"y"});
  pb::NodeProto& branch = m.graph.node("If", {"c"}, {"i"});
  for (const char* name : {"then_branch", "else_branch"}) {
    GraphMaker body(*attribute(branch, name, pb::AttributeProto::GRAPH).mutable_g());
    body.node("Relu", {"s"}, {"r"});
    body.output("r");
  }
  m.graph.node("F", {"i"}, {"z"}).set_domain("own");
  auto& domain = *m.model.add_opset_import();
  domain.set_domain("own"), domain.set_version(1);
  auto& function = *m.model.add_functions();
  function.set_name("F"), function.set_domain("own");
  function.add_input("a"), function.add_output("b");
  auto& node = *function.add_node();
  node.set_op_type("Relu"), node.add_input("a"), node.add_output("b");
  return m.model.SerializeAsString();
}

TEST(HostileBytes, truncated_at_every_length) {
  const std::string whole = busy_model();
  for (size_t length = 0; length < whole.size(); ++length) {
    const auto graph = import_model_bytes(as_bytes(whole.substr(0, length)), {});
    (void)graph;
  }
}

TEST(HostileBytes, flipped_at_random) {
  const std::string whole = busy_model();
  constexpr int kSeed = 20261201, kRounds = 20'000;
  std::mt19937 random(kSeed);
  for (int round = 0; round < kRounds; ++round) {
    std::string bytes = whole;
    for (uint32_t flips = 1 + random() % 4; flips > 0; --flips)
      bytes[random() % bytes.size()] ^= static_cast<char>(1u << (random() % 8));
    const auto graph = import_model_bytes(as_bytes(bytes), {});
    (void)graph;
  }
}

TEST(HostileBytes, nested_deeper_than_the_limit) {
  ModelMaker m(17);
  m.graph.input("c", kBool, {}).output("o");
  pb::GraphProto* graph = &m.graph.proto();
  for (int depth = 0; depth < 200; ++depth) {
    GraphMaker maker(*graph);
    pb::NodeProto& node = maker.node("If", {"c"}, {"o"});
    graph = attribute(node, "then_branch", pb::AttributeProto::GRAPH).mutable_g();
    graph->add_output()->set_name("o");
    attribute(node, "else_branch", pb::AttributeProto::GRAPH).mutable_g()->add_output()->set_name("c");
  }
  EXPECT_FALSE(m.import().ok());
}

TEST(HostileBytes, a_function_that_calls_itself) {
  ModelMaker m(17);
  m.graph.input("x", kFloat, {1}).output("y");
  m.graph.node("F", {"x"}, {"y"}).set_domain("own");
  auto& function = *m.model.add_functions();
  function.set_name("F"), function.set_domain("own");
  function.add_input("a"), function.add_output("b");
  auto& node = *function.add_node();
  node.set_op_type("F"), node.set_domain("own"), node.add_input("a"), node.add_output("b");
  const auto graph = m.import();
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().code(), Code::kLimit);
}

TEST(HostileBytes, functions_that_double_at_each_level) {
  ModelMaker m(17);
  m.graph.input("x", kFloat, {1}).output("y");
  m.graph.node("F0", {"x"}, {"y"}).set_domain("own");
  for (int level = 0; level < 40; ++level) {
    auto& function = *m.model.add_functions();
    function.set_name("F" + std::to_string(level)), function.set_domain("own");
    function.add_input("a"), function.add_output("c");
    for (const auto& [in, out] : {std::pair{"a", "b"}, {"b", "c"}}) {
      auto& node = *function.add_node();
      node.set_op_type(level == 39 ? "Relu" : "F" + std::to_string(level + 1));
      node.set_domain(level == 39 ? "" : "own");
      node.add_input(in), node.add_output(out);
    }
  }
  EXPECT_EQ(m.import(nullptr, {.max_nodes = 10'000}).error().code(), Code::kLimit);
}

}  // namespace
}  // namespace tutti::onnx
