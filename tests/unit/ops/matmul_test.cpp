#include "ops/matmul.h"

#include <gtest/gtest.h>

#include "unit/ops/eval_support.h"

namespace tutti::ops {
namespace {

using ir::Dims;
using ir::Tensor;

Tensor counted(Dims dims) {
  Tensor out = Tensor::allocate(ir::DType::kFloat32, std::move(dims));
  for (int64_t i = 0; i < out.size(); ++i) out.set_double(i, static_cast<double>(i % 7) - 2);
  return out;
}

Tensor product(const Tensor& a, const Tensor& b) {
  auto out = run_op(kMatMul, {a, b});
  EXPECT_TRUE(out.ok()) << out.error().text();
  return out.ok() ? (*out)[0].tensor() : Tensor();
}

TEST(MatMul, with_one_right_side_gives_what_each_batch_gives_alone) {
  const Tensor a = counted({3, 2, 4}), b = counted({4, 5});
  for (const Dims& right : {Dims{4, 5}, Dims{1, 4, 5}, Dims{1, 1, 4, 5}}) {
    const Tensor all = product(a, b.reshaped(right));
    ASSERT_EQ(all.size(), 30);
    ASSERT_EQ(all.rank(), std::max<int64_t>(3, static_cast<int64_t>(right.size())));
    for (int64_t i = 0; i < 3; ++i) {
      const Tensor own = Tensor::view(a.dtype(), {2, 4}, a.data<float>().data() + i * 8, nullptr);
      const std::vector<float> one = product(own, b).to_float(), whole = all.to_float();
      EXPECT_TRUE(std::equal(one.begin(), one.end(), whole.begin() + i * 10)) << "batch " << i;
    }
  }
}

TEST(MatMul, broadcasts_the_left_side_over_several_right_sides) {
  const Tensor a = counted({1, 2, 4}), b = counted({3, 4, 5});
  const std::vector<float> whole = product(a, b).to_float();
  ASSERT_EQ(whole.size(), 30u);
  for (int64_t i = 0; i < 3; ++i) {
    const Tensor own = Tensor::view(b.dtype(), {4, 5}, b.data<float>().data() + i * 20, nullptr);
    const std::vector<float> one = product(a.reshaped({2, 4}), own).to_float();
    EXPECT_TRUE(std::equal(one.begin(), one.end(), whole.begin() + i * 10)) << "batch " << i;
  }
}

TEST(MatMul, of_vectors_and_of_nothing) {
  EXPECT_EQ(product(counted({4}), counted({4})).dims(), Dims{});
  EXPECT_EQ(product(counted({4}), counted({4, 5})).dims(), (Dims{5}));
  EXPECT_EQ(product(counted({0, 2, 4}), counted({4, 5})).dims(), (Dims{0, 2, 5}));
}

}  // namespace
}  // namespace tutti::ops
