// What fuse_attention says about softmax nodes that it leaves between two products.
#include <algorithm>

#include <gtest/gtest.h>

#include "compile/compiler.h"
#include "compile/passes/passes.h"
#include "ir/text.h"
#include "ops/op_list.h"

namespace tutti::compile {
namespace {

class NoKernels final : public backend::Backend {
 public:
  const backend::DeviceInfo& device() const override { return device_; }
  std::span<const backend::KernelDef* const> kernels(const ir::OpDef&) const override { return {}; }

 private:
  backend::DeviceInfo device_;
};

using Declined = std::vector<std::pair<std::string, std::string>>;

Declined declined(const std::string& between, const backend::Backend* backend = nullptr) {
  const std::string text =
      "graph(%q: float32[2,5,4], %k: float32[2,4,5], %v: float32[2,5,4], %b: float32[5,5]) {\n"
      "  %scores = MatMul(%q, %k)\n" +
      between + "  %y = MatMul(%p, %v)\n  return %y\n}\n";
  Result<ir::Graph> graph = ir::parse_graph(text, ops::find_op);
  EXPECT_TRUE(graph.ok()) << graph.error().text();
  CompileReport report;
  const Pass pass{"fuse_attention", run_fuse_attention};
  const Status status = run_passes(*graph, {&pass, 1}, {.backend = backend}, &report);
  EXPECT_TRUE(status.ok()) << status.error().text();
  return report.passes.at(0).declined;
}

std::string reason(const std::string& between) {
  const Declined found = declined(between);
  return found.size() == 1 ? found[0].second : std::to_string(found.size()) + " reasons";
}

TEST(AttentionReport, a_fused_softmax_is_not_listed) { EXPECT_TRUE(declined("  %p = Softmax(%scores)\n").empty()); }

TEST(AttentionReport, says_why_a_softmax_stays) {
  EXPECT_EQ(reason("  %p = Softmax(%scores) {axis=1}\n"), "the softmax is not over the last axis");
  EXPECT_EQ(reason("  %r = Relu(%scores)\n  %p = Softmax(%r)\n"), "the scores come from Relu");
  EXPECT_EQ(reason("  %t = Add(%scores, %b)\n  %h: float32[] = dense [0.5]\n  %s = Mul(%t, %h)\n  %p = Softmax(%s)\n"),
            "a bias is added before the scores are scaled");
  EXPECT_EQ(reason("  %s = Mul(%scores, %b)\n  %p = Softmax(%s)\n"),
            "the scores are multiplied by neither one number nor one number for each query");
}

TEST(AttentionReport, leaves_nodes_that_the_device_would_run_on_its_reference) {
  const NoKernels none;
  const Declined found = declined("  %p = Softmax(%scores)\n", &none);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].second, "the device has no kernel for it");
}

}  // namespace
}  // namespace tutti::compile
