#include "ir/text.h"

#include <gtest/gtest.h>

#include "ir/op_def.h"

namespace tutti::ir {
namespace {

struct ScaleAttrs : AttrsOf<ScaleAttrs> {
  float by = 1;
  std::optional<int64_t> axis;
  std::vector<int64_t> list;
  std::string label;
  void fields(FieldVisitor& v) {
    v.field("by", by);
    v.field("axis", axis);
    v.field("list", list);
    v.field("label", label);
  }
};

Status infer_same(InferContext& context) {
  context.set_output(0, context.input(0));
  return {};
}

const OpDef kScale{
    .name = "Scale", .min_inputs = 1, .max_inputs = 2, .make_attrs = make_attrs<ScaleAttrs>, .infer = infer_same};

const OpDef* find(std::string_view name) { return name == "Scale" ? &kScale : nullptr; }

Error parse_error(std::string_view text) {
  Result<Graph> graph = parse_graph(text, find);
  EXPECT_FALSE(graph.ok());
  return graph.ok() ? Error(Code::kInternal, "it parsed") : graph.take_error();
}

TEST(Text, reads_what_it_wrote) {
  const std::string text =
      "graph \"net\"(%x: float32[n,2] as \"the input\", %\"odd name\": seq<int64[?]>) {\n"
      "  symbol n: 1..64\n"
      "  %w: float32[3] = dense [1.5, -inf, 3e-10]\n"
      "  %s: float32[100] = splat 0.25\n"
      "  %t: string[2] = dense [\"a\\\"b\", \"\\x00\"]\n"
      "  %y: float32[n,2] = Scale(%x, %w) {by=2.5, axis=-1, list=[1,2], label=\"a b\"} @\"node 1\" from \"a\", \"b\"\n"
      "  %z: float32[n,2] = Scale(%y, none)\n"
      "  return %z as \"out\", %y\n"
      "}\n";
  Result<Graph> graph = parse_graph(text, find);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(print_graph(*graph, {.origins = true}), text);
}

TEST(Text, infers_types_that_are_left_out) {
  Result<Graph> graph = parse_graph("graph(%x: int8[3]) { %y = Scale(%x) return %y }", find);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(graph->value(graph->outputs()[0].value).type.text(), "int8[3]");
}

TEST(Text, gives_line_and_column_of_an_error) {
  EXPECT_EQ(parse_error("graph(%x: int8[3]) {\n  %y = Nothing(%x)\n  return %y\n}").message().find("line 2, column"),
            0u);
  EXPECT_NE(parse_error("graph(%x: int8[3]) {\n  %y = Scale(%q)\n}").message().find("'%q'"), std::string::npos);
  EXPECT_NE(parse_error("graph(%x: int8[3]) {\n  %x = Scale(%x)\n}").message().find("taken"), std::string::npos);
  EXPECT_NE(parse_error("graph(%x: int8[3]) {\n  %y: int8[4] = Scale(%x)\n return %y }").message().find("int8[3]"),
            std::string::npos);
  EXPECT_NE(parse_error("graph(%x: int8[3]) {\n  %y = Scale(%x) {no=1}\n return %y }").message().find("'no'"),
            std::string::npos);
  EXPECT_NE(parse_error("graph(%x: int8[3]) {").message().find("the end"), std::string::npos);
}

}  // namespace
}  // namespace tutti::ir
