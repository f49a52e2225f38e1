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

QLinearAveragePoolAttrs row_pool(std::vector<int64_t> pads = {}) {
  QLinearAveragePoolAttrs attrs;
  attrs.kernel_shape = {2};
  attrs.pads = std::move(pads);
  return attrs;
}

TEST(QLinearAveragePool, averages_what_the_bytes_stand_for) {
  auto out = run_op(kQLinearAveragePool,
                    {Tensor::from<uint8_t>({1, 1, 3}, {10, 14, 20}), Tensor::scalar(0.5f), Tensor::scalar<uint8_t>(10),
                     Tensor::scalar(0.25f), Tensor::scalar<uint8_t>(3)},
                    row_pool());
  ASSERT_TRUE(out.ok()) << out.error().text();
  EXPECT_EQ((*out)[0].tensor().type_text(), "uint8[1,1,2]");
  EXPECT_EQ((*out)[0].tensor().to_int64(), (std::vector<int64_t>{7, 17}));  // 1 and 3.5
}

TEST(QLinearAveragePool, counts_padding_as_real_zeros_when_asked) {
  QLinearAveragePoolAttrs attrs = row_pool({1, 0});
  const std::vector<ir::Datum> inputs{Tensor::from<int8_t>({1, 1, 1}, {9}), Tensor::scalar(1.0f),
                                      Tensor::scalar<int8_t>(1), Tensor::scalar(1.0f), Tensor::scalar<int8_t>(-2)};
  EXPECT_EQ((*run_op(kQLinearAveragePool, inputs, attrs))[0].tensor().to_int64(), (std::vector<int64_t>{6}));
  attrs.count_include_pad = true;
  EXPECT_EQ((*run_op(kQLinearAveragePool, inputs, attrs))[0].tensor().to_int64(), (std::vector<int64_t>{2}));
}

TEST(QLinearAveragePool, pools_the_middle_axes_when_channels_are_last) {
  QLinearAveragePoolAttrs attrs = row_pool();
  attrs.channels_last = true;
  auto out = run_op(
      kQLinearAveragePool,
      {Tensor::from<uint8_t>({1, 3, 2}, {0, 100, 2, 50, 4, 0}), Tensor::scalar(1.0f), {}, Tensor::scalar(1.0f)}, attrs);
  ASSERT_TRUE(out.ok()) << out.error().text();
  EXPECT_EQ((*out)[0].tensor().dims(), (Dims{1, 2, 2}));
  EXPECT_EQ((*out)[0].tensor().to_int64(), (std::vector<int64_t>{1, 75, 3, 25}));
}

TEST(QLinearAveragePool, infers_symbolic_shapes_of_both_layouts) {
  QLinearAveragePoolAttrs attrs = row_pool();
  const std::vector<std::string> inputs{"uint8[n,7,l]", "float32[]", "uint8[]", "float32[]", "uint8[]"};
  EXPECT_EQ(inferred(kQLinearAveragePool, inputs, attrs), "uint8[n,7,l-1]");
  attrs.channels_last = true;
  EXPECT_EQ(inferred(kQLinearAveragePool, inputs, attrs), "uint8[n,6,l]");
}

TEST(QLinear, zero_points_may_be_absent_but_scales_may_not) {
  EXPECT_EQ(inferred(kQLinearAdd, {"uint8[2,1]", "float32[]", "", "uint8[3]", "float32[]", "", "float32[]"}),
            "uint8[2,3]");
  EXPECT_EQ(inferred(kQLinearSigmoid, {"uint8[2]", "float32[]", "", "float32[]"}), "uint8[2]");
  EXPECT_NE(inferred(kQLinearSigmoid, {"uint8[2]", "float32[]"}).find("input 3: found none, expected a value"),
            std::string::npos);
}

TEST(QLinearAveragePool, names_what_is_wrong) {
  const auto expect_text = [](const std::string& text, std::string_view part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const QLinearAveragePoolAttrs attrs = row_pool();
  expect_text(inferred(kQLinearAveragePool, {"float32[1,1,4]", "float32[]", "", "float32[]"}, attrs),
              "input 0 has element type float32; expected int8 or uint8");
  expect_text(inferred(kQLinearAveragePool, {"uint8[1,1,4]", "float32[]", "int8[]", "float32[]"}, attrs),
              "input 0 has element type uint8 but input 2 has int8");
  expect_text(inferred(kQLinearAveragePool, {"uint8[1,1,1]", "float32[]", "", "float32[]"}, attrs),
              "a window of extent 2 (kernel 2, dilation 1) does not fit an input of extent 1");
  expect_text(inferred(kQLinearAveragePool, {"uint8[1,4]", "float32[]", "", "float32[]"}, attrs), "rank 3");
  expect_text(
      run_error(
          kQLinearAveragePool,
          {Tensor::zeros(ir::DType::kUInt8, {1, 1, 4}), Tensor::from<float>({2}, {1, 1}), {}, Tensor::scalar(1.0f)},
          attrs),
      "the scale at input 1 is not one number");
}

}  // namespace
}  // namespace tutti::ops
