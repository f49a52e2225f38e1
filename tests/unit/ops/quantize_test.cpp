#include "ops/quantize.h"

#include <gtest/gtest.h>

#include "unit/ops/eval_support.h"

namespace tutti::ops {
namespace {

using ir::Dims;
using ir::Tensor;

TEST(QuantizeLinear, rounds_half_to_even_and_saturates) {
  auto out = run_op(kQuantizeLinear,
                    {Tensor::from<float>({4}, {1, 3, 1000, -1000}), Tensor::scalar(2.0f), Tensor::scalar<uint8_t>(10)});
  ASSERT_TRUE(out.ok()) << out.error().text();
  EXPECT_EQ((*out)[0].tensor().to_int64(), (std::vector<int64_t>{10, 12, 255, 0}));
}

TEST(QuantizeLinear, takes_one_scale_per_block) {
  QuantizeLinearAttrs attrs;
  attrs.axis = 1;
  attrs.block_size = 2;
  auto out =
      run_op(kQuantizeLinear, {Tensor::from<float>({1, 3}, {4, 8, 9}), Tensor::from<float>({1, 2}, {2, 3})}, attrs);
  ASSERT_TRUE(out.ok()) << out.error().text();
  EXPECT_EQ((*out)[0].tensor().to_int64(), (std::vector<int64_t>{2, 4, 3}));
}

TEST(QuantizeLinear, refuses_a_scale_that_does_not_fit_the_axis) {
  auto out = run_op(kQuantizeLinear, {Tensor::from<float>({1, 3}, {4, 8, 9}), Tensor::from<float>({2}, {2, 3})});
  ASSERT_FALSE(out.ok());
  EXPECT_NE(out.error().text().find("scale"), std::string::npos);
}

TEST(DequantizeLinear, is_the_inverse_on_multiples_of_the_scale) {
  auto out =
      run_op(kDequantizeLinear, {Tensor::from<int8_t>({2}, {-3, 5}), Tensor::scalar(0.5f), Tensor::scalar<int8_t>(1)});
  ASSERT_TRUE(out.ok()) << out.error().text();
  EXPECT_EQ((*out)[0].tensor().to_float(), (std::vector<float>{-2, 2}));
}

TEST(MatMulInteger, subtracts_a_zero_point_per_column) {
  auto out = run_op(kMatMulInteger, {Tensor::from<uint8_t>({1, 2}, {3, 4}), Tensor::from<uint8_t>({2, 2}, {1, 2, 3, 4}),
                                     Tensor::scalar<uint8_t>(1), Tensor::from<uint8_t>({2}, {1, 2})});
  ASSERT_TRUE(out.ok()) << out.error().text();
  EXPECT_EQ((*out)[0].tensor().to_int64(), (std::vector<int64_t>{6, 6}));
}

TEST(MatMulInteger, gives_nothing_for_empty_operands) {
  auto out =
      run_op(kMatMulInteger, {Tensor::zeros(ir::DType::kUInt8, {0, 3}), Tensor::zeros(ir::DType::kUInt8, {3, 2})});
  ASSERT_TRUE(out.ok()) << out.error().text();
  EXPECT_EQ((*out)[0].tensor().dims(), (Dims{0, 2}));
}

}  // namespace
}  // namespace tutti::ops
