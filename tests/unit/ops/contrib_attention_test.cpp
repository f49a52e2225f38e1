#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ops/attention.h"
#include "ops/attention_contrib.h"
#include "ops/interpreter.h"
#include "ops/matmul.h"
#include "ops/norm_layer.h"

namespace tutti::ops {
namespace {

using namespace ir;

Tensor random_tensor(Dims dims, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> distribution(-1, 1);
  Tensor tensor = Tensor::allocate(DType::kFloat32, std::move(dims));
  for (float& v : tensor.mutable_data<float>()) v = distribution(generator);
  return tensor;
}

Result<std::vector<Datum>> run(const OpDef& op, Attrs attrs, std::vector<Datum> inputs, int outputs = 1) {
  return evaluate({.op = op, .attrs = attrs, .inputs = inputs, .output_count = outputs});
}

void expect_close(const Result<std::vector<Datum>>& a, const Result<std::vector<Datum>>& b) {
  ASSERT_TRUE(a.ok()) << a.error().text();
  ASSERT_TRUE(b.ok()) << b.error().text();
  const Tensor &x = (*a)[0].tensor(), &y = (*b)[0].tensor();
  ASSERT_EQ(x.type_text(), y.type_text());
  for (int64_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x.get_double(i), y.get_double(i), 1e-5) << "at " << i;
}

TEST(MultiHeadAttention, equals_attention_of_onnx) {
  const Tensor q = random_tensor({2, 3, 8}, 1), k = random_tensor({2, 5, 8}, 2), v = random_tensor({2, 5, 4}, 3);
  MultiHeadAttentionAttrs contrib;
  contrib.num_heads = 2;
  AttentionAttrs plain;
  plain.q_num_heads = plain.kv_num_heads = 2;
  expect_close(run(kMultiHeadAttention, Attrs(contrib), {q, k, v}), run(kAttention, Attrs(plain), {q, k, v}));
}

TEST(MultiHeadAttention, continues_from_a_cache_as_if_all_were_given) {
  const Tensor x = random_tensor({1, 4, 6}, 1);
  MultiHeadAttentionAttrs attrs;
  attrs.num_heads = 2;
  attrs.unidirectional = true;
  const auto whole = run(kMultiHeadAttention, Attrs(attrs), {x, x, x}, 3);
  ASSERT_TRUE(whole.ok()) << whole.error().text();
  const Tensor head = Tensor::from<float>({1, 3, 6}, x.data<float>().first(18)),
               tail = Tensor::from<float>({1, 1, 6}, x.data<float>().last(6));
  const auto first = run(kMultiHeadAttention, Attrs(attrs), {head, head, head}, 3);
  ASSERT_TRUE(first.ok()) << first.error().text();
  const auto second =
      run(kMultiHeadAttention, Attrs(attrs), {tail, tail, tail, {}, {}, {}, (*first)[1], (*first)[2]}, 3);
  ASSERT_TRUE(second.ok()) << second.error().text();
  for (int64_t i = 0; i < 6; ++i)
    EXPECT_NEAR((*second)[0].tensor().get_double(i), (*whole)[0].tensor().get_double(18 + i), 1e-5);
  EXPECT_TRUE(identical((*second)[1].tensor(), (*whole)[1].tensor()));
}

TEST(ContribAttention, equals_a_projection_and_multi_head_attention) {
  const Tensor x = random_tensor({2, 3, 4}, 1), w = random_tensor({4, 12}, 2), b = random_tensor({12}, 3);
  ContribAttentionAttrs attrs;
  attrs.num_heads = 2;
  const Tensor mask = Tensor::from<int32_t>({2}, {3, 2});
  const auto projected = run(kMatMul, {}, {x, w});
  ASSERT_TRUE(projected.ok()) << projected.error().text();
  const auto part = [&](int64_t first) {
    Tensor out = Tensor::allocate(DType::kFloat32, {2, 3, 4});
    for (int64_t i = 0; i < 24; ++i) out.set_double(i, (*projected)[0].tensor().get_double(i / 4 * 12 + first + i % 4));
    return out;
  };
  MultiHeadAttentionAttrs heads;
  heads.num_heads = 2;
  expect_close(run(kContribAttention, Attrs(attrs), {x, w, b, mask}),
               run(kMultiHeadAttention, Attrs(heads), {part(0), part(4), part(8), b, mask}));
}

TEST(ContribAttention, names_a_mask_that_does_not_fit) {
  ContribAttentionAttrs attrs;
  attrs.num_heads = 2;
  const auto result =
      run(kContribAttention, Attrs(attrs),
          {random_tensor({1, 3, 4}, 1), random_tensor({4, 12}, 2), {}, Tensor::from<int32_t>({1, 2}, {1, 1})});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().text().find("the mask has shape [1,2], expected [1], [2], [1,3]"), std::string::npos)
      << result.error().text();
}

TEST(ContribRotaryEmbedding, equals_rotary_embedding_of_onnx) {
  const Tensor x = random_tensor({1, 2, 3, 4}, 1), c = random_tensor({8, 2}, 2), s = random_tensor({8, 2}, 3);
  const Tensor ids = Tensor::from<int64_t>({1, 3}, {4, 0, 7});
  for (const bool interleaved : {false, true}) {
    ContribRotaryEmbeddingAttrs contrib;
    contrib.interleaved = interleaved;
    RotaryEmbeddingAttrs plain;
    plain.interleaved = interleaved;
    expect_close(run(kContribRotaryEmbedding, Attrs(contrib), {x, ids, c, s}),
                 run(kRotaryEmbedding, Attrs(plain), {x, c, s, ids}));
  }
}

TEST(ContribRotaryEmbedding, refuses_positions_outside_the_cache) {
  const Tensor cache = random_tensor({2, 2}, 1);
  const auto result = run(kContribRotaryEmbedding, Attrs(ContribRotaryEmbeddingAttrs{}),
                          {random_tensor({1, 1, 3, 4}, 1), Tensor::from<int64_t>({1}, {0}), cache, cache});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().text().find("expected 0 to 1"), std::string::npos) << result.error().text();
}

TEST(MatMulNBits, multiplies_with_the_dequantised_weights) {
  MatMulNBitsAttrs attrs;
  attrs.K = 16;
  attrs.N = 1;
  attrs.block_size = 16;
  Tensor a = Tensor::zeros(DType::kFloat32, {1, 16}), b = Tensor::zeros(DType::kUInt8, {1, 1, 8});
  a.set_double(0, 1);
  a.set_double(3, 10);
  b.set_int(0, 0x09);  // elements 0 and 1: 9 and 0
  b.set_int(1, 0xb0);  // elements 2 and 3: 0 and 11
  const auto y = run(kMatMulNBits, Attrs(attrs), {a, b, Tensor::from<float>({1}, {0.5f})});
  ASSERT_TRUE(y.ok()) << y.error().text();
  EXPECT_FLOAT_EQ(static_cast<float>((*y)[0].tensor().get_double(0)), 0.5f * (9 - 8) + 10 * 0.5f * (11 - 8));
}

TEST(MatMulNBits, takes_each_columns_group_from_g_idx) {
  MatMulNBitsAttrs attrs;
  attrs.K = 32;
  attrs.N = 1;
  attrs.block_size = 16;
  const auto run_with = [&](int32_t last) {
    Tensor a = Tensor::zeros(DType::kFloat32, {1, 32}), b = Tensor::zeros(DType::kUInt8, {1, 2, 8});
    Tensor groups = Tensor::zeros(DType::kInt32, {32});
    a.set_double(1, 1);
    a.set_double(31, 1);
    b.set_int(0, 0x90);   // element 1: 9
    b.set_int(15, 0xa0);  // element 31: 10
    groups.set_int(1, 1);
    groups.set_int(31, last);
    return run(kMatMulNBits, Attrs(attrs), {a, b, Tensor::from<float>({1, 2}, {1, 100}), {}, groups});
  };
  const auto y = run_with(0);
  ASSERT_TRUE(y.ok()) << y.error().text();
  EXPECT_FLOAT_EQ(static_cast<float>((*y)[0].tensor().get_double(0)), 100 * (9 - 8) + 1 * (10 - 8));
  const auto error = run_with(2);
  ASSERT_FALSE(error.ok());
  EXPECT_NE(error.error().text().find("g_idx has the group 2, expected 0 to 1"), std::string::npos);
}

TEST(EmbedLayerNormalization, normalises_the_sum_of_the_rows_it_finds) {
  const Tensor ids = Tensor::from<int32_t>({1, 2}, {1, 0}), words = Tensor::from<float>({2, 2}, {1, 2, 5, 3}),
               positions = Tensor::from<float>({2, 2}, {0, 0, 1, 4});
  const Tensor gamma = Tensor::from<float>({2}, {1, 1}), beta = Tensor::from<float>({2}, {0, 10}),
               mask = Tensor::from<int32_t>({1, 2}, {1, 0});
  const auto y = run(kEmbedLayerNormalization, Attrs(EmbedLayerNormalizationAttrs{}),
                     {ids, {}, words, positions, {}, gamma, beta, mask}, 2);
  ASSERT_TRUE(y.ok()) << y.error().text();
  const std::vector<float> values = (*y)[0].tensor().to_float();
  for (const auto& [i, expected] : {std::pair<size_t, float>{0, 1}, {1, 9}, {2, -1}, {3, 11}})
    EXPECT_NEAR(values[i], expected, 1e-5);
  EXPECT_EQ((*y)[1].tensor().get_int(0), 1);
  const auto error = run(kEmbedLayerNormalization, Attrs(EmbedLayerNormalizationAttrs{}),
                         {Tensor::from<int32_t>({1, 1}, {9}), {}, words, positions, {}, gamma, beta}, 2);
  ASSERT_FALSE(error.ok());
  EXPECT_NE(error.error().text().find("the id 9 has no row in word_embedding, expected 0 to 1"), std::string::npos)
      << error.error().text();
}

}  // namespace
}  // namespace tutti::ops
