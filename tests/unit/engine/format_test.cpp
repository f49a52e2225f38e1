#include "engine/format.h"

#include <gtest/gtest.h>

#include "base/atomic_file.h"
#include "ops/interpreter.h"
#include "support/graph_cases.h"
#include "support/temp_dir.h"

namespace tutti::engine {
namespace {

using testing::read_text;
using testing::TempDir;

Plan plan_of(ir::Graph graph) {
  Plan plan;
  plan.graph = std::move(graph);
  plan.kernels = {{"relu", "cpu.relu"}};
  plan.provenance = {{"source", "abc"}, {"tool", "0.1.0"}};
  plan.tuned = {{"cpu-a", {{"relu", "cpu.other"}}, std::string("\0\1\2", 3)}};
  return plan;
}

// Two weights with equal bytes and one of more than a block, behind a name of their own each.
ir::Graph weighty_graph() {
  ir::GraphBuilder b;
  const auto x = b.input("x", testing::floats({ir::Dim::symbol("n"), 512}));
  const auto first = b.constant(testing::filled({512}, 1)), second = b.constant(testing::filled({512}, 1));
  const auto large = b.constant(testing::filled({600, 512}, 2));
  b.output("y", b.node(testing::op("Add"), {b.node(testing::op("Mul"), {x, first}), second}));
  b.output("z", b.node(testing::op("Relu"), {large}));
  return testing::finished(std::move(b));
}

std::string saved(const Plan& plan, const TempDir& folder, const char* name = "model.tutti") {
  const std::string path = folder.file(name);
  const Status status = save_engine(plan, path);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().text());
  return path;
}

Error load_error(const std::string& path, const LoadOptions& options = {}) {
  auto plan = load_engine(path, options);
  EXPECT_FALSE(plan.ok()) << path;
  return plan.ok() ? Error(Code::kInternal, "loaded") : plan.take_error();
}

TEST(EngineFile, comes_back_as_it_was) {
  const TempDir folder;
  for (const testing::GraphCase& test : testing::graph_cases()) {
    SCOPED_TRACE(test.name);
    const Plan plan = plan_of(test.graph());
    auto loaded = load_engine(saved(plan, folder));
    ASSERT_TRUE(loaded.ok()) << loaded.error().text();
    EXPECT_EQ((*loaded)->kernels, plan.kernels);
    EXPECT_EQ((*loaded)->provenance, plan.provenance);
    EXPECT_EQ((*loaded)->tuned, plan.tuned);
    for (const auto& inputs : test.inputs) {
      auto expected = ops::interpret(plan.graph, inputs), found = ops::interpret((*loaded)->graph, inputs);
      ASSERT_TRUE(expected.ok() && found.ok());
      for (size_t i = 0; i < expected->size(); ++i) EXPECT_TRUE(testing::identical((*expected)[i], (*found)[i]));
    }
  }
}

TEST(EngineFile, has_the_same_bytes_each_time_and_after_a_round_trip) {
  const TempDir folder;
  for (const testing::GraphCase& test : testing::graph_cases()) {
    SCOPED_TRACE(test.name);
    const std::string first = read_text(saved(plan_of(test.graph()), folder, "a"));
    EXPECT_EQ(first, read_text(saved(plan_of(test.graph()), folder, "b")));
    auto loaded = load_engine(folder.file("a"));
    ASSERT_TRUE(loaded.ok());
    EXPECT_EQ(first, read_text(saved(**loaded, folder, "c")));
  }
}

TEST(EngineFile, maps_weights_and_stores_equal_ones_once) {
  const TempDir folder;
  auto loaded = load_engine(saved(plan_of(weighty_graph()), folder), {.verify_weights = true});
  ASSERT_TRUE(loaded.ok()) << loaded.error().text();
  std::vector<const void*> addresses;
  const ir::Graph& graph = (*loaded)->graph;
  for (ir::ValueId id = 0; id < graph.value_capacity(); ++id)
    if (graph.value(id).is_constant()) {
      EXPECT_TRUE(graph.value(id).constant.file_backed());
      EXPECT_EQ(reinterpret_cast<uintptr_t>(graph.value(id).constant.raw()) % 64, 0u);
      addresses.push_back(graph.value(id).constant.raw());
    }
  ASSERT_EQ(addresses.size(), 3u);
  EXPECT_EQ(addresses[0], addresses[1]);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(addresses[2]) % 4096, 0u);
  EXPECT_EQ(weights_bytes(graph), 512u * 4 + 600u * 512 * 4);
}

TEST(EngineFile, keeps_its_weights_when_it_is_written_over_itself) {
  const TempDir folder;
  const std::string path = saved(plan_of(weighty_graph()), folder), before = read_text(path);
  auto loaded = load_engine(path);
  ASSERT_TRUE(loaded.ok());
  ASSERT_TRUE(save_engine(**loaded, path).ok());
  EXPECT_EQ(read_text(path), before);
}

TEST(EngineFile, says_when_it_is_no_engine) {
  const TempDir folder;
  const Error error = load_error(folder.write("model.onnx", std::string(1000, 'x')));
  EXPECT_EQ(error.code(), Code::kInvalidInput);
  EXPECT_NE(error.text().find("not an engine file"), std::string::npos) << error.text();
  EXPECT_EQ(load_error(folder.write("empty", "")).code(), Code::kInvalidInput);
  EXPECT_EQ(load_error(folder.file("missing")).code(), Code::kNotFound);
}

TEST(EngineFile, says_which_version_wrote_a_newer_one_and_which_this_one_reads) {
  const TempDir folder;
  std::string bytes = read_text(saved(plan_of(testing::static_graph()), folder));
  bytes[8] = 7;
  bytes.replace(16, 6, std::string("9.8.7\0", 6));
  const Error error = load_error(folder.write("newer", bytes));
  EXPECT_EQ(error.code(), Code::kVersion);
  EXPECT_NE(error.text().find("found version 7 (written by Tutti 9.8.7), expected 1"), std::string::npos)
      << error.text();
  bytes[8] = 0;
  EXPECT_EQ(load_error(folder.write("older", bytes)).code(), Code::kVersion);
}

TEST(EngineFile, says_found_and_expected_bytes_when_truncated) {
  const TempDir folder;
  const std::string bytes = read_text(saved(plan_of(weighty_graph()), folder));
  for (size_t length = 8; length < bytes.size(); length += length < 300 ? 1 : bytes.size() / 97) {
    const Error error = load_error(folder.write("cut", bytes.substr(0, length)));
    ASSERT_EQ(error.code(), Code::kCorrupt) << length;
    ASSERT_NE(error.text().find(fmt::format("found {} bytes", length)), std::string::npos) << error.text();
  }
  EXPECT_EQ(load_error(folder.write("longer", bytes + "x")).code(), Code::kCorrupt);
}

TEST(EngineFile, finds_an_altered_byte_of_the_manifest) {
  const TempDir folder;
  std::string bytes = read_text(saved(plan_of(testing::static_graph()), folder));
  bytes[500] = static_cast<char>(bytes[500] ^ 1);
  const Error error = load_error(folder.write("altered", bytes));
  EXPECT_EQ(error.code(), Code::kCorrupt);
  EXPECT_NE(error.text().find("manifest"), std::string::npos) << error.text();
}

TEST(EngineFile, finds_an_altered_weight_when_asked) {
  const TempDir folder;
  std::string bytes = read_text(saved(plan_of(weighty_graph()), folder));
  bytes[bytes.size() - 5] = static_cast<char>(bytes[bytes.size() - 5] ^ 1);
  const std::string path = folder.write("altered", bytes);
  EXPECT_TRUE(load_engine(path).ok());
  const Error error = load_error(path, {.verify_weights = true});
  EXPECT_EQ(error.code(), Code::kCorrupt);
  EXPECT_NE(error.text().find("weights section is corrupt between bytes 1048576"), std::string::npos) << error.text();
}

}  // namespace
}  // namespace tutti::engine
