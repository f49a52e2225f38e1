#include "ir/shape_hint.h"

#include <gtest/gtest.h>

namespace tutti::ir {
namespace {

Graph two_inputs() {
  Graph graph;
  graph.add_input(
      "image", ValueType::tensor(DType::kFloat32, Shape{Dim::symbol("n"), Dim(3), Dim::symbol("h"), Dim::symbol("w")}));
  graph.add_input("ids:0", ValueType::tensor(DType::kInt64, Shape{Dim::symbol("n"), Dim::symbol("s")}));
  return graph;
}

TEST(ShapeHint, names_may_contain_colons_and_ranges_have_three_parts) {
  auto hints = parse_shape_hints("ids:0=1x2:1x8:4x64,image=1x3x8x8");
  ASSERT_TRUE(hints.ok()) << hints.error().text();
  EXPECT_EQ((*hints)[0].input, "ids:0");
  EXPECT_EQ((*hints)[0].max, (Dims{4, 64}));
  EXPECT_EQ((*hints)[1].min, (*hints)[1].max);
}

TEST(ShapeHint, a_symbol_fixed_by_one_input_holds_for_the_others) {
  const Graph graph = two_inputs();
  const auto hints = *parse_shape_hints("image=5x3x32x48");
  auto shapes = resolve_input_shapes(graph, hints, ShapePoint::kTypical);
  ASSERT_TRUE(shapes.ok()) << shapes.error().text();
  EXPECT_EQ((*shapes)[1], (Dims{5, 32}));
}

TEST(ShapeHint, contradictions_name_the_input_and_both_sizes) {
  const Graph graph = two_inputs();
  const auto hints = *parse_shape_hints("image=5x4x32x48");
  auto shapes = resolve_input_shapes(graph, hints, ShapePoint::kTypical);
  ASSERT_FALSE(shapes.ok());
  EXPECT_EQ(shapes.error().message(),
            "input 'image': found shape [5,4,32,48], expected [n,3,h,w] (dimension 1 is fixed to 3)");
}

TEST(ShapeHint, malformed_text_is_a_usage_error) {
  for (const char* text : {"a=1x", "a=x2", "a=1x2:3x4", "a=-1x2", "a=4:2:1"}) {
    auto hints = parse_shape_hints(text);
    ASSERT_FALSE(hints.ok()) << text;
    EXPECT_EQ(hints.error().code(), Code::kUsage);
  }
}

}  // namespace
}  // namespace tutti::ir
