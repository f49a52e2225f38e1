#include "compile/bisect.h"

#include <gtest/gtest.h>

#include "ir/builder.h"
#include "ir/infer.h"
#include "ir/rewrite.h"
#include "ops/accuracy.h"
#include "ops/interpreter.h"
#include "ops/op_list.h"

namespace tutti::compile {
namespace {

TEST(Bisect, finds_the_first_bad_number_with_few_questions) {
  for (int64_t wanted = 1; wanted <= 100; ++wanted) {
    int asked = 0;
    const auto found = first_bad(0, 100, [&](int64_t n) -> Result<bool> {
      ++asked;
      EXPECT_TRUE(n > 0 && n < 100);
      return n >= wanted;
    });
    EXPECT_EQ(*found, wanted);
    EXPECT_LE(asked, 7);
  }
}

TEST(Bisect, asks_nothing_about_neighbours_and_passes_errors_on) {
  const auto refuse = [](int64_t n) -> Result<bool> { return make_error(Code::kLimit, "no {}", n); };
  EXPECT_EQ(*first_bad(4, 5, refuse), 5);
  EXPECT_EQ(first_bad(0, 4, refuse).error().message(), "no 2");
}

// x -> Abs -> ... -> Abs -> y, `length` nodes named n0, n1, ...
ir::Graph chain(int length) {
  ir::GraphBuilder builder;
  ir::ValueId value = builder.input("x", ir::ValueType::tensor(ir::DType::kFloat32, ir::Shape{ir::Dim(3)}));
  for (int i = 0; i < length; ++i) {
    value = builder.node(*ops::find_op("Abs"), {value});
    ir::Graph& graph = builder.graph();
    ir::Node& node = graph.node(graph.value(value).producer);
    node.name = fmt::format("n{}", i);
    node.origins = {node.name};
  }
  builder.output("y", value);
  return std::move(builder).finish().value();
}

// Rewrites every Abs to the operator TO.
ir::Rule abs_to(std::string_view rule_name, std::string_view to, std::string only = "") {
  return {rule_name, {ops::find_op("Abs")}, [=](const ir::Graph& graph, ir::NodeId id) -> std::optional<ir::Patch> {
            const ir::Node& node = graph.node(id);
            if (!only.empty() && node.name != only) return std::nullopt;
            ir::Patch patch(graph, std::string(rule_name));
            patch.replace(node.outputs[0], patch.node(*ops::find_op(to), {node.inputs[0]}));
            return patch;
          }};
}

Result<PassStats> apply(ir::Graph& graph, PassContext& context, const std::vector<ir::Rule>& rules) {
  const auto stats = TUTTI_TRY(ir::rewrite(graph, rules, {.patch_limit = context.patch_limit}));
  return PassStats{.patches = stats.patches, .by_rule = stats.by_rule, .declined = {}};
}

// Wrong for n5 only.
Result<PassStats> run_broken(ir::Graph& graph, PassContext& context) {
  return apply(graph, context, {abs_to("negate", "Neg", "n5")});
}
// Right for values that are not negative, as those after an Abs are.
Result<PassStats> run_harmless(ir::Graph& graph, PassContext& context) {
  const auto rule = abs_to("rectify", "Relu");
  return apply(graph, context, {{rule.name, rule.roots, [rule](const ir::Graph& g, ir::NodeId id) {
                                   const std::string& name = g.node(id).name;
                                   return name == "n0" || name == "n5" ? std::nullopt : rule.match(g, id);
                                 }}});
}

constexpr Pass kPasses[] = {{"harmless", run_harmless}, {"broken", run_broken}, {"harmless", run_harmless}};

struct Case {
  ir::Graph graph = chain(9);
  std::vector<ir::Datum> inputs{ir::Tensor::from<float>({3}, {-1, 2, -3})};
  std::vector<ir::Datum> expected = *ops::interpret(graph, inputs);

  Result<BisectReport> bisect(std::span<const Pass> passes, CompileOptions options = {}) const {
    return bisect_patches({graph, passes, options, [this](const ir::Graph& changed) -> Result<bool> {
                             const auto found = TUTTI_TRY(ops::interpret(changed, inputs));
                             return ops::measure_difference(found[0], expected[0], {1, 0}).pass;
                           }});
  }
};

TEST(Bisect, names_the_pass_the_rule_the_patch_and_the_node) {
  const Case test;
  const auto report = test.bisect(kPasses);
  ASSERT_TRUE(report.ok()) << report.error().text();
  ASSERT_TRUE(report->culprit);
  EXPECT_EQ(report->patches, 8);
  EXPECT_EQ(report->culprit->patch, 8);
  EXPECT_EQ(report->culprit->pass, "broken");
  EXPECT_EQ(report->culprit->rule, "negate");
  EXPECT_EQ(report->culprit->patch_of_pass, 1);
  ASSERT_EQ(report->culprit->made.size(), 1u);
  EXPECT_EQ(report->culprit->made[0].op, "Neg");
  EXPECT_EQ(report->culprit->made[0].origins, std::vector<std::string>{"n5"});
  ASSERT_EQ(report->culprit->removed.size(), 1u);
  EXPECT_EQ(report->culprit->removed[0].op, "Abs");
}

TEST(Bisect, stops_the_pipeline_where_stop_after_patch_does) {
  const Case test;
  const int64_t patch = test.bisect(kPasses)->culprit->patch;
  for (const int64_t count : {patch - 1, patch}) {
    ir::Graph graph = test.graph.clone();
    ASSERT_TRUE(run_passes(graph, kPasses, {.stop_after_patch = count}, nullptr).ok());
    const auto found = ops::interpret(graph, test.inputs);
    EXPECT_EQ(ops::measure_difference((*found)[0], test.expected[0], {1, 0}).pass, count < patch);
  }
  EXPECT_FALSE(test.bisect(kPasses, {.stop_after_patch = patch - 1})->culprit);
}

TEST(Bisect, finds_nothing_where_all_is_right) {
  const Case test;
  const auto report = test.bisect({kPasses, 1});
  ASSERT_TRUE(report.ok());
  EXPECT_FALSE(report->culprit);
  EXPECT_EQ(report->patches, 7);
  EXPECT_EQ(report->tries, 1);
  EXPECT_FALSE(test.bisect(kPasses, {.disabled_passes = {"broken"}})->culprit);
}

TEST(Bisect, blames_no_patch_when_the_untouched_graph_is_wrong_already) {
  const Case test;
  const auto report = bisect_patches({test.graph, kPasses, {}, [](const ir::Graph&) -> Result<bool> { return false; }});
  ASSERT_TRUE(report.ok());
  ASSERT_TRUE(report->culprit);
  EXPECT_EQ(report->culprit->patch, 0);
  EXPECT_TRUE(report->culprit->pass.empty());
  EXPECT_EQ(report->culprit->graph.node_count(), 9);
}

}  // namespace
}  // namespace tutti::compile
