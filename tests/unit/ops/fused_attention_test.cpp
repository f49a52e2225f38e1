#include "ops/fused_attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "ir/builder.h"
#include "ops/attention.h"
#include "ops/fused.h"
#include "unit/ops/eval_support.h"

namespace tutti::ops {
namespace {

using namespace ir;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Tensor random_tensor(Dims dims, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  Tensor tensor = Tensor::allocate(DType::kFloat32, std::move(dims));
  for (float& v : tensor.mutable_data<float>()) v = normal(generator);
  return tensor;
}

Tensor fused(const FusedAttentionAttrs& attrs, std::vector<Datum> inputs) {
  auto out = run_op(kFusedAttention, std::move(inputs), Attrs(attrs));
  EXPECT_TRUE(out.ok()) << (out.ok() ? "" : out.error().text());
  return out.ok() ? (*out)[0].tensor() : Tensor::zeros(DType::kFloat32, {});
}

Tensor onnx(const AttentionAttrs& attrs, std::vector<Datum> inputs) {
  auto out = run_op(kAttention, std::move(inputs), Attrs(attrs));
  EXPECT_TRUE(out.ok()) << (out.ok() ? "" : out.error().text());
  return out.ok() ? (*out)[0].tensor() : Tensor::zeros(DType::kFloat32, {});
}

void expect_close(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.type_text(), b.type_text());
  for (int64_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a.get_double(i), b.get_double(i), 1e-5) << "at " << i;
}

TEST(FusedAttention, equals_attention_of_onnx_with_every_option) {
  const Tensor q = random_tensor({2, 4, 3, 8}, 1), k = random_tensor({2, 4, 5, 8}, 2),
               v = random_tensor({2, 4, 5, 6}, 3);
  const Tensor bias = random_tensor({2, 1, 3, 5}, 4);
  const Tensor mask = Tensor::from<bool>({1, 5}, {true, false, true, true, false});
  FusedAttentionAttrs a;
  AttentionAttrs o;
  a.scale = 0.25f, o.scale = 0.25f;
  expect_close(fused(a, {q, k, v}), onnx(o, {q, k, v}));
  expect_close(fused(a, {q, k, v, bias}), onnx(o, {q, k, v, bias}));
  expect_close(fused(a, {q, k, v, {}, {}, mask}), onnx(o, {q, k, v, mask}));
  a.causal = o.is_causal = true;
  a.softcap = o.softcap = 2;
  expect_close(fused(a, {q, k, v, bias}), onnx(o, {q, k, v, bias}));
}

TEST(FusedAttention, repeats_the_heads_of_keys_and_values) {
  const Tensor q = random_tensor({2, 6, 3, 4}, 1), k = random_tensor({2, 2, 5, 4}, 2),
               v = random_tensor({2, 2, 5, 4}, 3);
  AttentionAttrs o;
  o.scale = 1.0f;
  expect_close(fused({}, {q, k, v}), onnx(o, {q, k, v}));
}

// Q, K and V side by side in one tensor [S, B, 3, H, D]; the result comes as [S, B, H, D].
TEST(FusedAttention, reads_slices_and_permuted_operands) {
  const Tensor packed = random_tensor({5, 2, 3, 4, 8}, 1);
  Tensor parts[3];
  for (int64_t p = 0; p < 3; ++p) {
    parts[p] = Tensor::allocate(DType::kFloat32, {2, 4, 5, 8});
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t h = 0; h < 4; ++h)
        for (int64_t s = 0; s < 5; ++s)
          for (int64_t d = 0; d < 8; ++d)
            parts[p].set_double(((b * 4 + h) * 5 + s) * 8 + d,
                                packed.get_double((((s * 2 + b) * 3 + p) * 4 + h) * 8 + d));
  }
  FusedAttentionAttrs a;
  a.q_perm = a.k_perm = a.v_perm = {1, 2, 0, 3};
  a.q_select = {2, 0}, a.k_select = {2, 1}, a.v_select = {2, 2};
  a.out_perm = {2, 0, 1, 3};
  const Tensor y = fused(a, {packed, packed, packed});
  const Tensor plain = fused({}, {parts[0], parts[1], parts[2]});
  ASSERT_EQ(y.dims(), (Dims{5, 2, 4, 8}));
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t h = 0; h < 4; ++h)
      for (int64_t s = 0; s < 5; ++s)
        for (int64_t d = 0; d < 8; ++d)
          ASSERT_EQ(y.get_double(((s * 2 + b) * 4 + h) * 8 + d), plain.get_double(((b * 4 + h) * 5 + s) * 8 + d));
}

TEST(FusedAttention, a_fully_masked_row_is_nan_or_zero) {
  const Tensor q = random_tensor({1, 2, 4}, 1), k = random_tensor({1, 3, 4}, 2), v = random_tensor({1, 3, 4}, 3);
  const Tensor bias = Tensor::from<float>({2, 3}, {-kInfinity, -kInfinity, -kInfinity, 0, -kInfinity, 0});
  FusedAttentionAttrs a;
  const Tensor nan = fused(a, {q, k, v, bias});
  a.zero_masked_rows = true;
  const Tensor zero = fused(a, {q, k, v, bias});
  for (int64_t d = 0; d < 4; ++d) {
    EXPECT_TRUE(std::isnan(nan.get_double(d)));
    EXPECT_EQ(zero.get_double(d), 0);
    EXPECT_EQ(zero.get_double(4 + d), nan.get_double(4 + d));
    EXPECT_TRUE(std::isfinite(zero.get_double(4 + d)));
  }
}

TEST(FusedAttention, infers_symbolic_shapes_through_its_expansion) {
  GraphBuilder b;
  const Dim batch = Dim::symbol("batch"), seq = Dim::symbol("seq"), keys = Dim::symbol("keys");
  const ValueId q = b.input("q", ValueType::tensor(DType::kFloat32, Shape{batch, seq, 12, 64}));
  const ValueId k = b.input("k", ValueType::tensor(DType::kFloat32, Shape{batch, keys, 12, 64}));
  const ValueId v = b.input("v", ValueType::tensor(DType::kFloat32, Shape{batch, keys, 12, 32}));
  FusedAttentionAttrs a;
  a.q_perm = a.k_perm = a.v_perm = a.out_perm = {0, 2, 1, 3};
  a.causal = true;
  const ValueId y = b.node(kFusedAttention, {q, k, v}, a);
  EXPECT_EQ(b.type(y).text(), "float32[batch,seq,12,32]");
}

TEST(FusedAttention, says_what_it_cannot_read) {
  const Tensor vector = random_tensor({4}, 1), matrix = random_tensor({3, 4}, 2);
  auto out = run_op(kFusedAttention, {vector, matrix, matrix});
  ASSERT_FALSE(out.ok());
  EXPECT_NE(out.error().text().find("expected rank 2 or more"), std::string::npos) << out.error().text();
  FusedAttentionAttrs a;
  a.v_select = {1};
  out = run_op(kFusedAttention, {matrix, matrix, matrix}, Attrs(a));
  ASSERT_FALSE(out.ok());
  EXPECT_NE(out.error().text().find("expected axis and index"), std::string::npos) << out.error().text();
}

}  // namespace
}  // namespace tutti::ops
