#include "compile/shared_values.h"

#include <gtest/gtest.h>

#include "ir/builder.h"
#include "ops/op_list.h"

namespace tutti::compile {
namespace {

struct Step {
  std::string value;
  std::vector<std::string> origins;
};

// A chain of nodes with these outputs and origins.
ir::Graph chain(const std::vector<Step>& steps) {
  ir::GraphBuilder builder;
  ir::ValueId value = builder.input("x", ir::ValueType::tensor(ir::DType::kFloat32, ir::Shape{ir::Dim(3)}));
  for (const Step& step : steps) {
    value = builder.node(*ops::find_op("Relu"), {value});
    ir::Graph& graph = builder.graph();
    graph.value(value).name = step.value;
    graph.node(graph.value(value).producer).origins = step.origins;
  }
  builder.output("y", value);
  return std::move(builder).finish().value();
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs shared(const std::vector<Step>& a, const std::vector<Step>& b) {
  Pairs out;
  for (const SharedValue& value : shared_values(chain(a), chain(b))) out.emplace_back(value.a, value.b);
  return out;
}

const std::vector<Step> kModel{{"conv_out", {"conv"}}, {"act_out", {"act"}}, {"head_out", {"head"}}};

TEST(SharedValues, are_those_of_one_name) {
  EXPECT_EQ(shared(kModel, kModel),
            (Pairs{{"conv_out", "conv_out"}, {"act_out", "act_out"}, {"head_out", "head_out"}}));
  EXPECT_EQ(shared({{"act_out", {"conv", "act"}}, {"head_out", {"head"}}}, kModel),
            (Pairs{{"act_out", "act_out"}, {"head_out", "head_out"}}));
}

TEST(SharedValues, are_the_last_of_a_fused_nodes_origins_where_the_name_is_lost) {
  const std::vector<Step> fused{{"v1", {"conv", "act"}}, {"head_out", {"head"}}};
  EXPECT_EQ(shared(fused, kModel), (Pairs{{"v1", "act_out"}, {"head_out", "head_out"}}));
  EXPECT_EQ(shared(kModel, fused), (Pairs{{"act_out", "v1"}, {"head_out", "head_out"}}));
}

TEST(SharedValues, are_not_what_a_node_in_the_middle_of_its_origins_makes) {
  EXPECT_EQ(shared({{"v1", {"conv"}}, {"v2", {"conv"}}, {"act_out", {"act"}}}, kModel),
            (Pairs{{"v2", "conv_out"}, {"act_out", "act_out"}}));
  // Cut at other places: what lies between has no counterpart.
  EXPECT_EQ(shared({{"v1", {"conv", "act"}}, {"v2", {"head"}}}, {{"w1", {"conv"}}, {"w2", {"act", "head"}}}),
            (Pairs{{"v2", "w2"}}));
}

TEST(SharedValues, are_not_made_up_names_that_are_equal_by_chance) {
  EXPECT_EQ(shared({{"v1", {"conv"}}, {"v2", {"act"}}}, {{"v2", {"conv"}}, {"v3", {"act"}}}),
            (Pairs{{"v1", "v2"}, {"v2", "v3"}}));
}

}  // namespace
}  // namespace tutti::compile
