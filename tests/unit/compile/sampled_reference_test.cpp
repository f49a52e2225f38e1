#include "compile/sampled_reference.h"

#include <gtest/gtest.h>

#include <random>

#include "ops/fused_attention.h"
#include "ops/interpreter.h"

namespace tutti::compile {
namespace {

using ir::Datum;
using ir::Tensor;

Tensor random_tensor(ir::Dims dims, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  Tensor tensor = Tensor::allocate(ir::DType::kFloat32, std::move(dims));
  for (float& v : tensor.mutable_data<float>()) v = normal(generator);
  return tensor;
}

Tensor attention(const ir::Node& node, std::span<const Datum> inputs) {
  auto out = ops::evaluate({.op = *node.op, .attrs = node.attrs, .inputs = inputs, .output_count = 1});
  EXPECT_TRUE(out.ok()) << (out.ok() ? "" : out.error().text());
  return (*out)[0].tensor();
}

ir::Node packed_node() {
  ops::FusedAttentionAttrs a;
  a.q_perm = a.k_perm = a.v_perm = {1, 2, 0, 3};
  a.q_select = {2, 0}, a.k_select = {2, 1}, a.v_select = {2, 2};
  a.out_perm = {2, 0, 1, 3};
  ir::Node node;
  node.op = &ops::kFusedAttention;
  node.attrs = a;
  return node;
}

TEST(SampledReference, some_queries_of_attention_give_that_slice_of_its_result) {
  const ir::Node node = packed_node();
  const Tensor packed = random_tensor({9, 2, 3, 4, 8}, 1);
  const std::vector<Datum> inputs{packed, packed, packed, random_tensor({4, 9, 9}, 2), random_tensor({2, 1, 1, 9}, 3)};
  const Tensor whole = attention(node, inputs);
  const auto sample = sample_node(node, inputs, whole, 3 * 64, 5);
  ASSERT_TRUE(sample.has_value());
  EXPECT_EQ(sample->axis, 0);
  EXPECT_EQ(sample->end - sample->begin, 3);
  const Tensor part = attention(node, sample->inputs), expected = slice_axis(whole, 0, sample->begin, sample->end);
  ASSERT_EQ(part.dims(), expected.dims());
  for (int64_t i = 0; i < part.size(); ++i) ASSERT_NEAR(part.get_double(i), expected.get_double(i), 1e-6);
}

TEST(SampledReference, counts_both_products_of_attention) {
  const ir::Node node = packed_node();
  const Tensor packed = random_tensor({9, 2, 3, 4, 8}, 1);
  const std::vector<Datum> inputs{packed, packed, packed};
  EXPECT_EQ(estimate_flops(node, inputs, attention(node, inputs)), 2.0 * 2 * 2 * 4 * 9 * 9 * 8);
}

TEST(SampledReference, causal_attention_is_evaluated_whole) {
  ir::Node node = packed_node();
  node.attrs.as<ops::FusedAttentionAttrs>().causal = true;
  const Tensor packed = random_tensor({9, 2, 3, 4, 8}, 1);
  const std::vector<Datum> inputs{packed, packed, packed};
  EXPECT_FALSE(sample_node(node, inputs, attention(node, inputs), 64, 1).has_value());
}

}  // namespace
}  // namespace tutti::compile
