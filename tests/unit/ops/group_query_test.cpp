#include "ops/group_query_attention.h"

#include <gmock/gmock.h>

#include <random>

#include "ops/attention.h"
#include "unit/ops/eval_support.h"

namespace tutti::ops {
namespace {

using namespace ir;
using testing::HasSubstr;

constexpr float kClose = 1e-5f;

Tensor random_tensor(Dims dims, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> distribution(-1, 1);
  Tensor tensor = Tensor::allocate(DType::kFloat32, std::move(dims));
  for (float& v : tensor.mutable_data<float>()) v = distribution(generator);
  return tensor;
}

GroupQueryAttentionAttrs heads(int64_t query, int64_t shared) {
  GroupQueryAttentionAttrs attrs;
  attrs.num_heads = query;
  attrs.kv_num_heads = shared;
  return attrs;
}

Tensor lengths(std::vector<int32_t> tokens) {
  for (int32_t& n : tokens) --n;
  return Tensor::from<int32_t>({static_cast<int64_t>(tokens.size())}, std::span<const int32_t>(tokens));
}

// Rows [first, first + count) of a tensor [1, S, W].
Tensor rows(const Tensor& x, int64_t first, int64_t count) {
  return Tensor::from<float>({1, count, x.dim(2)}, x.data<float>().subspan(static_cast<size_t>(first * x.dim(2)),
                                                                           static_cast<size_t>(count * x.dim(2))));
}

Result<std::vector<Datum>> run(const GroupQueryAttentionAttrs& attrs, std::vector<Datum> inputs) {
  return run_op(kGroupQueryAttention, std::move(inputs), attrs, 3);
}

void expect_close(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.type_text(), b.type_text());
  for (int64_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a.get_double(i), b.get_double(i), kClose) << "at " << i;
}

TEST(GroupQueryAttention, equals_causal_attention_of_onnx) {
  const Tensor q = random_tensor({2, 3, 12}, 1), k = random_tensor({2, 3, 6}, 2), v = random_tensor({2, 3, 6}, 3);
  AttentionAttrs plain;
  plain.q_num_heads = 4;
  plain.kv_num_heads = 2;
  plain.is_causal = true;
  const auto expected = run_op(kAttention, {q, k, v}, plain);
  const auto found = run(heads(4, 2), {q, k, v, {}, {}, lengths({3, 3}), Tensor::scalar<int32_t>(3)});
  ASSERT_TRUE(found.ok()) << found.error().text();
  expect_close((*found)[0].tensor(), (*expected)[0].tensor());
}

TEST(GroupQueryAttention, takes_query_key_and_value_packed) {
  const Tensor q = random_tensor({1, 2, 4}, 1), k = random_tensor({1, 2, 2}, 2), v = random_tensor({1, 2, 2}, 3);
  Tensor packed = Tensor::allocate(DType::kFloat32, {1, 2, 8});
  for (int64_t s = 0; s < 2; ++s)
    for (int64_t i = 0; i < 8; ++i)
      packed.set_double(s * 8 + i, i < 4   ? q.get_double(s * 4 + i)
                                   : i < 6 ? k.get_double(s * 2 + i - 4)
                                           : v.get_double(s * 2 + i - 6));
  const Tensor total = Tensor::scalar<int32_t>(2);
  const auto apart = run(heads(2, 1), {q, k, v, {}, {}, lengths({2}), total});
  const auto together = run(heads(2, 1), {packed, {}, {}, {}, {}, lengths({2}), total});
  ASSERT_TRUE(apart.ok()) << apart.error().text();
  ASSERT_TRUE(together.ok()) << together.error().text();
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(identical((*apart)[i].tensor(), (*together)[i].tensor())) << i;
}

TEST(GroupQueryAttention, continues_from_its_cache_with_rotation_as_if_all_were_given) {
  const Tensor q = random_tensor({1, 5, 8}, 1), k = random_tensor({1, 5, 4}, 2), v = random_tensor({1, 5, 4}, 3),
               c = random_tensor({8, 2}, 4), n = random_tensor({8, 2}, 5);
  for (const bool interleaved : {false, true}) {
    GroupQueryAttentionAttrs attrs = heads(2, 1);
    attrs.do_rotary = true;
    attrs.rotary_interleaved = interleaved;
    attrs.softcap = 3;
    const auto step = [&](int64_t first, int64_t count, const Datum& past_k, const Datum& past_v) {
      return run(attrs, {rows(q, first, count), rows(k, first, count), rows(v, first, count), past_k, past_v,
                         lengths({static_cast<int32_t>(first + count)}),
                         Tensor::scalar<int32_t>(static_cast<int32_t>(first + count)), c, n});
    };
    const Tensor none = Tensor::zeros(DType::kFloat32, {1, 1, 0, 4});
    const auto whole = step(0, 5, none, none), head = step(0, 3, none, none);
    ASSERT_TRUE(whole.ok()) << whole.error().text();
    ASSERT_TRUE(head.ok()) << head.error().text();
    const auto tail = step(3, 2, (*head)[1], (*head)[2]);
    ASSERT_TRUE(tail.ok()) << tail.error().text();
    expect_close((*tail)[0].tensor(), rows((*whole)[0].tensor(), 3, 2));
    for (const size_t cache : {1u, 2u}) expect_close((*tail)[cache].tensor(), (*whole)[cache].tensor());
  }
}

TEST(GroupQueryAttention, writes_into_a_cache_with_room_and_leaves_padding_rows_zero) {
  const Tensor q = random_tensor({1, 3, 2}, 1), room = Tensor::zeros(DType::kFloat32, {1, 1, 6, 2});
  const Tensor total = Tensor::scalar<int32_t>(3);
  const auto padded = run(heads(1, 1), {q, q, q, room, room, lengths({2}), total});
  const auto exact =
      run(heads(1, 1), {rows(q, 0, 2), rows(q, 0, 2), rows(q, 0, 2), {}, {}, lengths({2}), Tensor::scalar<int32_t>(2)});
  ASSERT_TRUE(padded.ok()) << padded.error().text();
  ASSERT_TRUE(exact.ok()) << exact.error().text();
  expect_close(rows((*padded)[0].tensor(), 0, 2), (*exact)[0].tensor());
  EXPECT_EQ((*padded)[0].tensor().get_double(4), 0);
  EXPECT_EQ((*padded)[1].tensor().dims(), (Dims{1, 1, 6, 2}));
  EXPECT_EQ((*padded)[1].tensor().get_double(3), q.get_double(3));
  EXPECT_EQ((*padded)[1].tensor().get_double(4), 0);
}

TEST(GroupQueryAttention, starts_every_entry_of_a_first_prompt_at_the_first_position) {
  const Tensor x = random_tensor({2, 2, 2}, 1), table = random_tensor({8, 1}, 2), total = Tensor::scalar<int32_t>(2);
  GroupQueryAttentionAttrs attrs = heads(1, 1);
  attrs.do_rotary = true;
  const auto at = [&](std::vector<int64_t> ids) {
    return run(attrs, {x,
                       x,
                       x,
                       {},
                       {},
                       lengths({2, 2}),
                       total,
                       table,
                       table,
                       Tensor::from<int64_t>({2, 2}, std::span<const int64_t>(ids))});
  };
  const auto some = at({3, 4, 0, 1}), same = at({3, 4, 3, 4});
  ASSERT_TRUE(some.ok()) << some.error().text();
  EXPECT_TRUE(identical((*some)[1].tensor(), (*same)[1].tensor()));
}

TEST(GroupQueryAttention, sees_its_window_only) {
  GroupQueryAttentionAttrs attrs = heads(1, 1);
  attrs.local_window_size = 1;
  const Tensor x = random_tensor({1, 3, 2}, 1);
  const auto y = run(attrs, {x, x, x, {}, {}, lengths({3}), Tensor::scalar<int32_t>(3)});
  ASSERT_TRUE(y.ok()) << y.error().text();
  expect_close((*y)[0].tensor(), x);
}

TEST(GroupQueryAttention, gives_a_sink_its_share) {
  const Tensor x = Tensor::from<float>({1, 1, 1}, {1});
  const std::vector<Datum> inputs{x, x, x, {}, {}, lengths({1}), Tensor::scalar<int32_t>(1)};
  GroupQueryAttentionAttrs attrs = heads(1, 1);
  attrs.smooth_softmax = true;
  EXPECT_NEAR((*run(attrs, inputs))[0].tensor().get_double(0), std::exp(1.0) / (std::exp(1.0) + 1), kClose);
  std::vector<Datum> sunk = inputs;
  sunk.resize(12);
  sunk[11] = Tensor::from<float>({1}, {1});
  EXPECT_NEAR((*run(heads(1, 1), sunk))[0].tensor().get_double(0), 0.5, kClose);
}

TEST(GroupQueryAttention, infers_the_cache_from_what_is_known) {
  const GroupQueryAttentionAttrs attrs = heads(4, 2);
  EXPECT_EQ(inferred(kGroupQueryAttention,
                     {"float32[b,s,32]", "float32[b,s,16]", "float32[b,s,16]", "", "", "int32[b]", "int32[]"}, attrs),
            "float32[b,s,32]");
  EXPECT_EQ(inferred(kGroupQueryAttention, {"float16[b,s,64]", "", "", "", "", "int32[b]", "int32[]"}, attrs),
            "float16[b,s,32]");
}

TEST(GroupQueryAttention, names_what_is_wrong_in_the_model) {
  const GroupQueryAttentionAttrs attrs = heads(4, 2);
  const auto error = [](const GroupQueryAttentionAttrs& a, std::vector<std::string> inputs) {
    return inferred(kGroupQueryAttention, std::move(inputs), a);
  };
  EXPECT_THAT(error(attrs, {"float32[1,2,8]", "float32[1,2,4]", "", "", "", "int32[1]", "int32[]"}),
              HasSubstr("found one of key and value, expected both or neither"));
  EXPECT_THAT(error(attrs, {"float32[1,2,8]", "float32[1,2,6]", "float32[1,2,4]", "", "", "int32[1]", "int32[]"}),
              HasSubstr("the number of columns of key is 6, expected 4"));
  EXPECT_THAT(error(attrs, {"float32[1,2,9]", "float32[1,2,4]", "float32[1,2,4]", "", "", "int32[1]", "int32[]"}),
              HasSubstr("query has 9 columns, expected a multiple of 4 heads"));
  EXPECT_THAT(error(attrs, {"float32[1,2,16]"}), HasSubstr("input 5: found none"));
  EXPECT_THAT(error(heads(3, 2), {"float32[1,2,9]"}), HasSubstr("num_heads and kv_num_heads are 3 and 2"));
  GroupQueryAttentionAttrs quantized = attrs;
  quantized.k_quant_type = "PER_TENSOR";
  EXPECT_THAT(error(quantized, {"float32[1,2,16]"}), HasSubstr("expected NONE"));
}

TEST(GroupQueryAttention, names_what_is_wrong_at_run_time) {
  const Tensor x = random_tensor({1, 2, 4}, 1), table = random_tensor({1, 1}, 2), total = Tensor::scalar<int32_t>(2);
  GroupQueryAttentionAttrs attrs = heads(2, 2);
  EXPECT_THAT(run_error(kGroupQueryAttention, {x, x, x, {}, {}, lengths({3}), total}, attrs),
              HasSubstr("seqlens_k[0] is 2, expected 0 to 1"));
  EXPECT_THAT(run_error(kGroupQueryAttention, {x, x, x, {}, {}, lengths({3}), Tensor::scalar<int32_t>(3)}, attrs),
              HasSubstr("expected at most 0 rows before them in the cache"));
  EXPECT_THAT(run_error(kGroupQueryAttention,
                        {x, x, x, {}, {}, lengths({2}), total, {}, {}, {}, random_tensor({1, 1, 2, 3}, 3)}, attrs),
              HasSubstr("attention_bias has shape [1,1,2,3], expected [1 or 1,1 or 2,2,2]"));
  attrs.do_rotary = true;
  EXPECT_THAT(run_error(kGroupQueryAttention, {x, x, x, {}, {}, lengths({2}), total, table, table}, attrs),
              HasSubstr("row 1 of entry 0 has position 1, expected 0 to 0"));
}

}  // namespace
}  // namespace tutti::ops
