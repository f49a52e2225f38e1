#include <gtest/gtest.h>

#include "ir/infer.h"
#include "ops/attention.h"
#include "ops/pool.h"
#include "unit/ops/eval_support.h"

namespace tutti::ops {
namespace {

using namespace ir;

std::string refusal(const AttentionAttrs& attrs, const Shape& shape) {
  Graph graph;
  NodeSpec spec{.op = &kAttention, .attrs = Attrs(attrs), .output_names = {"y", "k", "v", "qk"}};
  for (int i = 0; i < 3; ++i)
    spec.inputs.push_back(graph.add_input(graph.unique_name("x"), ValueType::tensor(DType::kFloat32, shape)));
  const Status status = infer_node(graph, graph.add_node(std::move(spec)));
  return status.ok() ? "no error" : status.error().text();
}

TEST(Attention, refuses_an_output_mode_that_does_not_exist) {
  for (const int64_t mode : {-1, 4, 9}) {
    AttentionAttrs attrs;
    attrs.qk_matmul_output_mode = mode;
    EXPECT_NE(refusal(attrs, {1, 2, 2, 4}).find("qk_matmul_output_mode is"), std::string::npos)
        << refusal(attrs, {1, 2, 2, 4});
  }
}

TEST(Attention, refuses_a_negative_cap) {
  AttentionAttrs attrs;
  attrs.softcap = -1;
  EXPECT_NE(refusal(attrs, {1, 2, 2, 4}).find("softcap is -1"), std::string::npos) << refusal(attrs, {1, 2, 2, 4});
}

TEST(Attention, refuses_to_split_empty_rows_into_endless_heads) {
  AttentionAttrs attrs;
  attrs.q_num_heads = attrs.kv_num_heads = int64_t{1} << 40;
  EXPECT_NE(refusal(attrs, {1, 1, 0}).find("expected at most 65536"), std::string::npos) << refusal(attrs, {1, 1, 0});
}

TEST(RoiAlign, refuses_boxes_with_more_samples_than_memory_holds) {
  RoiAlignAttrs attrs;
  attrs.output_height = attrs.output_width = 100;
  attrs.sampling_ratio = 4096;
  const auto y = run_op(kRoiAlign,
                        {Tensor::from<float>({1, 1, 1, 1}, {1}), Tensor::from<float>({1, 4}, {0, 0, 1, 1}),
                         Tensor::from<int64_t>({1}, {0})},
                        Attrs(attrs));
  ASSERT_FALSE(y.ok());
  EXPECT_NE(y.error().text().find("expected at most"), std::string::npos) << y.error().text();
}

}  // namespace
}  // namespace tutti::ops
