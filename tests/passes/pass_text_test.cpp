// Each tests/passes/<pass>/<case>.txt holds a graph before and after one pass ("same" when the pass must leave it
// alone). The texts are compared, and both graphs run on seeded inputs: a rewrite must not change results.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "compile/compiler.h"
#include "ir/infer.h"
#include "ir/text.h"
#include "ops/interpreter.h"
#include "ops/op_list.h"
#include "ops/sample_inputs.h"
#include "ops/tolerance.h"
#include "passes/canonical_text.h"

namespace tutti::compile {
namespace {

namespace fs = std::filesystem;

struct Case {
  std::string pass, name, path;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const auto& folder : fs::directory_iterator(fs::path(TUTTI_SOURCE_DIR) / "tests/passes")) {
    if (!folder.is_directory()) continue;
    for (const auto& file : fs::directory_iterator(folder))
      if (file.path().extension() == ".txt")
        cases.push_back({folder.path().filename(), file.path().stem(), file.path()});
  }
  std::sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) { return a.path < b.path; });
  return cases;
}

struct Texts {
  std::string before, after;
};

Texts read_texts(const std::string& path) {
  std::ifstream file(path);
  std::stringstream all;
  all << file.rdbuf();
  const std::string text = all.str();
  const size_t before = text.find("--- before\n"), after = text.find("--- after\n");
  EXPECT_TRUE(before != std::string::npos && after != std::string::npos) << path;
  return {text.substr(before + 11, after - before - 11), text.substr(after + 10)};
}

ir::Graph parsed(const std::string& text) {
  Result<ir::Graph> graph = ir::parse_graph(text, ops::find_op);
  EXPECT_TRUE(graph.ok()) << graph.error().text() << "\n" << text;
  return graph.ok() ? std::move(*graph) : ir::Graph();
}

// Every symbol is three.
std::vector<ir::Dims> input_shapes(const ir::Graph& graph) {
  std::vector<ir::Dims> shapes;
  ir::SymbolValues values;
  for (const ir::Port& port : graph.inputs()) {
    const ir::Shape shape = graph.value(port.value).type.shape.value_or(ir::Shape{});
    std::vector<std::string> symbols;
    for (const ir::Dim& dim : shape) dim.collect_symbols(symbols);
    for (const std::string& symbol : symbols) values[symbol] = 3;
    shapes.push_back(ir::evaluate(shape, values).value_or(ir::Dims{}));
  }
  return shapes;
}

void expect_same_results(const ir::Graph& before, const ir::Graph& after) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Result<std::vector<ir::Datum>> inputs =
        ops::sample_inputs(before, input_shapes(before), ops::SampleKind::kRandom, seed);
    ASSERT_TRUE(inputs.ok()) << inputs.error().text();
    Result<std::vector<ir::Datum>> expected = ops::interpret(before, *inputs), found = ops::interpret(after, *inputs);
    ASSERT_TRUE(expected.ok()) << expected.error().text();
    ASSERT_TRUE(found.ok()) << found.error().text();
    ASSERT_EQ(expected->size(), found->size());
    for (size_t i = 0; i < found->size(); ++i) {
      const ops::Comparison comparison = ops::compare_data((*found)[i], (*expected)[i], ir::Tolerance::kApproximate);
      EXPECT_TRUE(comparison.pass) << "seed " << seed << ", output " << i << ": " << comparison.text;
    }
  }
}

class PassText : public testing::TestWithParam<Case> {};

TEST_P(PassText, gives_the_written_graph_with_the_same_results) {
  const Texts texts = read_texts(GetParam().path);
  const ir::Graph before = parsed(texts.before);
  if (HasFailure()) return;
  const bool unchanged = texts.after.starts_with("same");
  const ir::Graph expected = unchanged ? before.clone() : parsed(texts.after);
  const auto pass =
      std::find_if(pipeline().begin(), pipeline().end(), [](const Pass& p) { return p.name == GetParam().pass; });
  ASSERT_TRUE(pass != pipeline().end()) << "no such pass: " << GetParam().pass;
  ir::Graph graph = before.clone();
  CompileReport report;
  const Status status = run_passes(graph, {&*pass, 1}, {}, &report);
  ASSERT_TRUE(status.ok()) << status.error().text();
  EXPECT_EQ(test::canonical_text(graph), test::canonical_text(expected));
  if (unchanged) {
    EXPECT_EQ(report.patches, 0);
  }
  expect_same_results(before, graph);
  if (!unchanged) expect_same_results(before, expected);
}

TEST_P(PassText, prints_and_parses_back) {
  const ir::Graph graph = parsed(read_texts(GetParam().path).before);
  const ir::TextOptions everything{.inline_limit = 1 << 20, .origins = true};
  const std::string text = ir::print_graph(graph, everything);
  EXPECT_EQ(ir::print_graph(parsed(text), everything), text);
}

INSTANTIATE_TEST_SUITE_P(Cases, PassText, testing::ValuesIn(all_cases()), [](const testing::TestParamInfo<Case>& info) {
  return info.param.pass + "_" + info.param.name;
});

}  // namespace
}  // namespace tutti::compile
