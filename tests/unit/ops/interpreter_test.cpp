#include "ops/interpreter.h"

#include <gtest/gtest.h>

#include "ir/builder.h"
#include "ops/op_list.h"
#include "ops/pointwise.h"
#include "ops/random.h"

namespace tutti::ops {
namespace {

using ir::DType;
using ir::Shape;
using ir::Tensor;
using ir::ValueType;

TEST(OpList, finds_each_operator_by_its_name) {
  ASSERT_FALSE(all_ops().empty());
  for (const ir::OpDef* op : all_ops()) {
    EXPECT_EQ(find_op(op->name), op);
    EXPECT_NE(op->infer, nullptr) << op->name;
    EXPECT_TRUE(op->eval != nullptr || op->expand != nullptr) << op->name;
  }
  EXPECT_EQ(find_op("NoSuchOp"), nullptr);
}

TEST(Interpreter, names_the_input_that_does_not_fit) {
  ir::GraphBuilder builder;
  builder.output("y", builder.node(kRelu, {builder.input("x", ValueType::tensor(DType::kFloat32, Shape{2}))}));
  const auto graph = std::move(builder).finish();
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  const std::vector<ir::Datum> inputs{Tensor::zeros(DType::kFloat32, {3})};
  const auto out = interpret(*graph, inputs);
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().text(), "input 'x' is float32[3]; expected float32[2]");
}

TEST(Interpreter, names_the_node_that_fails) {
  ir::GraphBuilder builder;
  const auto x = builder.input("x", ValueType::tensor(DType::kFloat32, Shape{ir::Dim::symbol("n")}));
  const auto z = builder.input("z", ValueType::tensor(DType::kFloat32, Shape{ir::Dim::symbol("m")}));
  builder.output("y", builder.node(kAdd, {x, z}));
  const auto graph = std::move(builder).finish();
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  const std::vector<ir::Datum> inputs{Tensor::zeros(DType::kFloat32, {3}), Tensor::zeros(DType::kFloat32, {2})};
  const auto out = interpret(*graph, inputs);
  ASSERT_FALSE(out.ok());
  EXPECT_NE(out.error().text().find("(Add)"), std::string::npos) << out.error().text();
  EXPECT_NE(out.error().text().find("cannot broadcast [3] with [2]"), std::string::npos) << out.error().text();
}

TEST(Interpreter, draws_the_same_numbers_for_the_same_seed) {
  ir::GraphBuilder builder;
  RandomAttrs attrs;
  attrs.shape = {4};
  builder.output("a", builder.node(kRandomNormal, {}, attrs));
  builder.output("b", builder.node(kRandomNormal, {}, attrs));
  const auto graph = std::move(builder).finish();
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  const auto first = interpret(*graph, {}, {.seed = 1}), again = interpret(*graph, {}, {.seed = 1}),
             other = interpret(*graph, {}, {.seed = 2});
  ASSERT_TRUE(first.ok() && again.ok() && other.ok());
  EXPECT_TRUE(identical((*first)[0].tensor(), (*again)[0].tensor()));
  EXPECT_FALSE(identical((*first)[0].tensor(), (*other)[0].tensor()));
  EXPECT_FALSE(identical((*first)[0].tensor(), (*first)[1].tensor()));
}

}  // namespace
}  // namespace tutti::ops
