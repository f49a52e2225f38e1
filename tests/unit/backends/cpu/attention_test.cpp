#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "backends/cpu/cpu_backend.h"
#include "ops/fused_attention.h"
#include "unit/backends/cpu/kernel_check.h"

namespace tutti::cpu::test {
namespace {

using Ints = std::vector<int64_t>;
using ir::Dims;
using ir::Tensor;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

void check(std::vector<ir::AttrField> attrs, std::vector<Tensor> inputs) {
  EXPECT_EQ(check_node({"tutti.FusedAttention", std::move(attrs), std::move(inputs)}),
            std::vector<std::string>{"vector.attention"});
}

std::vector<Tensor> operands(Dims q, Dims k, Dims v) {
  return {random_floats(std::move(q), 1), random_floats(std::move(k), 2), random_floats(std::move(v), 3)};
}

// Some elements -inf, and row 0 entirely when asked.
Tensor mask_floats(Dims dims, bool hide_first_row = false) {
  Tensor t = random_floats(std::move(dims), 7);
  const int64_t row = t.dim(t.rank() - 1);
  for (int64_t i = 0; i < t.size(); ++i)
    if (i % 3 == 1 || (hide_first_row && i < row)) t.set_double(i, -kInfinity);
  return t;
}

Tensor mask_bools(Dims dims) {
  Tensor t = Tensor::allocate(ir::DType::kBool, std::move(dims));
  for (int64_t i = 0; i < t.size(); ++i) t.set_int(i, i % 3 != 1);
  return t;
}

TEST(Attention, takes_any_head_size_and_any_length) {
  struct Size {
    int64_t queries, keys, size, value_size;
  };
  for (const Size& s : std::vector<Size>{{1, 1, 1, 1},
                                         {1, 7, 8, 8},
                                         {3, 5, 9, 7},
                                         {8, 8, 16, 16},
                                         {9, 16, 20, 33},
                                         {49, 49, 32, 32},
                                         {64, 128, 64, 64},
                                         {65, 129, 64, 48},
                                         {100, 197, 40, 80},
                                         {130, 300, 96, 72},
                                         {17, 500, 128, 128},
                                         {33, 21, 257, 5},
                                         {70, 40, 3, 512},
                                         {5, 1000, 80, 80}})
    check({{"scale", 1 / std::sqrt(static_cast<float>(s.size))}},
          operands({2, 3, s.queries, s.size}, {2, 3, s.keys, s.size}, {2, 3, s.keys, s.value_size}));
}

TEST(Attention, broadcasts_biases_and_masks) {
  const std::vector<Tensor> qkv = operands({2, 3, 21, 16}, {2, 3, 35, 16}, {2, 3, 35, 16});
  for (const Dims& dims : std::vector<Dims>{{2, 3, 21, 35},
                                            {1, 3, 21, 35},
                                            {2, 1, 21, 35},
                                            {2, 1, 1, 35},
                                            {21, 35},
                                            {35},
                                            {2, 3, 21, 1},
                                            {1, 1, 21, 1},
                                            {1},
                                            {2, 3, 1, 1}}) {
    check({}, {qkv[0], qkv[1], qkv[2], random_floats(dims, 5)});
    check({}, {qkv[0], qkv[1], qkv[2], Tensor(), Tensor(), mask_bools(dims)});
    check({{"masked_value", -3.0f}}, {qkv[0], qkv[1], qkv[2], Tensor(), random_floats(dims, 6), mask_bools(dims)});
  }
  check({}, {qkv[0], qkv[1], qkv[2], random_floats({1, 3, 21, 35}, 5), mask_floats({2, 1, 21, 35})});
}

TEST(Attention, hides_later_keys_and_caps_scores) {
  for (const auto& [queries, keys] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 4}, {40, 40}, {150, 150}, {20, 300}, {300, 20}}) {
    const std::vector<Tensor> qkv = operands({2, queries, 24}, {2, keys, 24}, {2, keys, 24});
    check({{"causal", true}}, qkv);
    check({{"causal", true}, {"softcap", 1.5f}}, qkv);
  }
}

TEST(Attention, reads_operands_in_every_layout) {
  check({{"q_perm", Ints{0, 2, 1, 3}},
         {"k_perm", Ints{0, 2, 1, 3}},
         {"v_perm", Ints{0, 2, 1, 3}},
         {"out_perm", Ints{0, 2, 1, 3}}},
        operands({2, 21, 3, 16}, {2, 35, 3, 16}, {2, 35, 3, 16}));
  // K, Q, V and the result with the head's elements apart.
  check({{"k_perm", Ints{0, 1, 3, 2}}}, operands({2, 3, 21, 16}, {2, 3, 16, 35}, {2, 3, 35, 16}));
  check({{"q_perm", Ints{2, 0, 1}}, {"v_perm", Ints{0, 2, 1}}, {"out_perm", Ints{2, 1, 0}}},
        operands({21, 16, 2}, {2, 35, 16}, {2, 12, 35}));
  const Tensor packed = random_floats({5, 2, 3, 4, 8});
  const Ints perm{1, 2, 0, 3};
  check({{"q_select", Ints{2, 0}},
         {"k_select", Ints{2, 1}},
         {"v_select", Ints{2, 2}},
         {"q_perm", perm},
         {"k_perm", perm},
         {"v_perm", perm},
         {"out_perm", Ints{2, 0, 1, 3}}},
        {packed, packed, packed});
}

TEST(Attention, broadcasts_batches_and_groups_heads) {
  check({}, operands({2, 6, 9, 8}, {2, 2, 11, 8}, {2, 2, 11, 8}));
  check({}, operands({2, 6, 9, 8}, {2, 1, 11, 8}, {1, 3, 11, 8}));
  check({}, operands({9, 8}, {4, 11, 8}, {11, 8}));
  check({}, operands({3, 4, 2, 9, 8}, {3, 4, 2, 9, 8}, {3, 4, 2, 9, 8}));
}

TEST(Attention, masked_rows_are_nan_or_zero_and_special_values_spread_as_in_the_reference) {
  for (const int64_t keys : {5, 300})
    for (const bool zero : {false, true}) {
      const std::vector<Tensor> qkv = operands({3, 20, 16}, {3, keys, 16}, {3, keys, 16});
      check({{"zero_masked_rows", zero}}, {qkv[0], qkv[1], qkv[2], mask_floats({20, keys}, true)});
      check({{"zero_masked_rows", zero}}, {qkv[0], qkv[1], qkv[2], Tensor::from<float>({1}, {-kInfinity})});
      for (const float special : {std::nanf(""), kInfinity, -kInfinity, std::numeric_limits<float>::lowest()}) {
        Tensor bias = random_floats({20, keys});
        bias.set_double(keys * 2 + 1, special);
        bias.set_double(keys * 9 + keys - 1, special);
        check({{"zero_masked_rows", zero}}, {qkv[0], qkv[1], qkv[2], bias});
      }
    }
  // A whole row at the lowest float is not hidden: all keys weigh the same.
  Tensor lowest = random_floats({20, 300});
  for (int64_t i = 0; i < 300; ++i) lowest.set_double(i, std::numeric_limits<float>::lowest());
  check({}, {random_floats({3, 20, 16}, 1), random_floats({3, 300, 16}, 2), random_floats({3, 300, 16}, 3), lowest});
}

// The kernel's result for one set of operands.
Tensor run(const std::vector<Tensor>& in) {
  const auto backend = make_cpu_backend();
  std::vector<backend::TensorDesc> inputs;
  std::vector<const void*> data;
  for (const Tensor& t : in) inputs.push_back({t.dtype(), t.dims()}), data.push_back(t.raw());
  Dims dims = in[0].dims();
  dims.back() = in[2].dims().back();
  Tensor out = Tensor::allocate(ir::DType::kFloat32, dims);
  const backend::TensorDesc out_desc{out.dtype(), dims};
  const std::vector<const Tensor*> constants(in.size(), nullptr);
  const ir::Attrs attrs{ops::FusedAttentionAttrs{}};
  const backend::KernelQuery query{ops::kFusedAttention, attrs, inputs, {&out_desc, 1}, constants, backend->device()};
  struct NoWeights final : backend::PackedWeights {
    Result<std::shared_ptr<const Tensor>> get(const Tensor&, std::string_view,
                                              const std::function<Result<Tensor>()>&) override {
      return make_error(Code::kInternal, "no weights here");
    }
  } weights;
  auto kernel = backend->kernels(ops::kFusedAttention)[0]->prepare({query, weights});
  EXPECT_TRUE(kernel.ok());
  ThreadPool pool(3);
  void* results[] = {out.mutable_raw()};
  EXPECT_TRUE((*kernel)->run({data, results, nullptr, pool}).ok());
  return out;
}

TEST(Attention, a_row_has_the_same_bits_in_any_batch_and_at_any_place) {
  const int64_t queries = 70, keys = 150, size = 24;
  const std::vector<Tensor> one = operands({1, queries, size}, {1, keys, size}, {1, keys, size});
  std::vector<Tensor> many = operands({4, queries, size}, {4, keys, size}, {4, keys, size});
  for (size_t i = 0; i < 3; ++i)
    std::memcpy(static_cast<char*>(many[i].mutable_raw()) + 2 * one[i].size_bytes(), one[i].raw(), one[i].size_bytes());
  const Tensor alone = run(one), among = run(many);
  EXPECT_EQ(
      std::memcmp(alone.raw(), static_cast<const char*>(among.raw()) + 2 * alone.size_bytes(), alone.size_bytes()), 0);
  // All queries equal: all rows equal, in whole panels and in the rest.
  std::vector<Tensor> equal = one;
  equal[0] = one[0].clone();
  for (int64_t i = 0; i < queries * size; ++i) equal[0].set_double(i, one[0].get_double(i % size));
  const Tensor rows = run(equal);
  for (int64_t i = 0; i < queries * size; ++i) ASSERT_EQ(rows.get_double(i), rows.get_double(i % size)) << "at " << i;
}

TEST(Attention, says_what_it_does_not_take) {
  const auto backend = make_cpu_backend();
  const backend::KernelDef& def = *backend->kernels(ops::kFusedAttention)[0];
  ir::Attrs attrs{ops::FusedAttentionAttrs{}};
  const std::vector<const Tensor*> constants(4, nullptr);
  auto refusal = [&](std::vector<backend::TensorDesc> inputs, const Dims& out) {
    const backend::TensorDesc desc{inputs[0].dtype, out};
    return def.supports({ops::kFusedAttention, attrs, inputs, {&desc, 1}, constants, backend->device()}).value_or("");
  };
  using enum ir::DType;
  EXPECT_EQ(refusal({{kFloat16, {3, 4}}, {kFloat16, {5, 4}}, {kFloat16, {5, 4}}}, {3, 4}),
            "input 0 is float16, takes float32 only");
  EXPECT_EQ(refusal({{kFloat32, {3, 600}}, {kFloat32, {5, 600}}, {kFloat32, {5, 4}}}, {3, 4}),
            "takes heads of up to 512 elements, found 600 and 4");
  EXPECT_EQ(refusal({{kFloat32, {3, 4}}, {kFloat32, {0, 4}}, {kFloat32, {0, 4}}}, {3, 4}), "an operand is empty");
  EXPECT_EQ(refusal({{kFloat32, {3, 4}}, {kFloat32, {1, 4}}, {kFloat32, {1, 4}}, {kFloat32, {3, 5}}}, {3, 4}),
            "input 3 has shape [3,5] and does not broadcast to the scores [3,1]");
  ops::FusedAttentionAttrs selecting;
  selecting.k_select = {0, 2};
  attrs = ir::Attrs{selecting};
  EXPECT_EQ(refusal({{kFloat32, {3, 4}}, {kFloat32, {2, 5, 4}}, {kFloat32, {5, 4}}}, {3, 4}),
            "a selection lies outside its axis");
}

}  // namespace
}  // namespace tutti::cpu::test
