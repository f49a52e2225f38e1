#include "ops/recurrent.h"

#include <cmath>

#include <gtest/gtest.h>

#include "unit/ops/eval_support.h"

namespace tutti::ops {
namespace {

using ir::Datum;
using ir::Tensor;

TEST(Rnn, runs_backwards_over_each_sequence_s_own_length) {
  RnnAttrs attrs;
  attrs.activations = {"Affine"};
  attrs.direction = Direction::kReverse;
  // h = x + h: the sum of what was seen; two sequences of lengths 3 and 2.
  auto out = run_op(kRNN,
                    {Tensor::from<float>({3, 2, 1}, {1, 10, 2, 20, 3, 30}), Tensor::from<float>({1, 1, 1}, {1}),
                     Tensor::from<float>({1, 1, 1}, {1}), Datum(), Tensor::from<int32_t>({2}, {3, 2})},
                    attrs, 2);
  ASSERT_TRUE(out.ok()) << out.error().text();
  EXPECT_EQ((*out)[0].tensor().to_float(), (std::vector<float>{6, 30, 5, 20, 3, 0}));
  EXPECT_EQ((*out)[1].tensor().to_float(), (std::vector<float>{6, 30}));
}

TEST(Lstm, clips_the_inputs_of_its_activations) {
  LstmAttrs attrs;
  attrs.clip = 0.5f;
  auto out = run_op(kLSTM,
                    {Tensor::from<float>({1, 1, 1}, {100}), Tensor::from<float>({1, 4, 1}, {1, 1, 1, 1}),
                     Tensor::from<float>({1, 4, 1}, {0, 0, 0, 0})},
                    attrs, 3);
  ASSERT_TRUE(out.ok()) << out.error().text();
  const double gate = 1 / (1 + std::exp(-0.5)), cell = gate * std::tanh(0.5);
  EXPECT_NEAR((*out)[2].tensor().get_double(0), cell, 1e-6);
  EXPECT_NEAR((*out)[1].tensor().get_double(0), gate * std::tanh(cell), 1e-6);
}

TEST(Gru, refuses_weights_of_another_hidden_size) {
  auto out = run_op(kGRU, {Tensor::zeros(ir::DType::kFloat32, {1, 1, 2}), Tensor::zeros(ir::DType::kFloat32, {1, 5, 2}),
                           Tensor::zeros(ir::DType::kFloat32, {1, 6, 2})});
  ASSERT_FALSE(out.ok());
  EXPECT_NE(out.error().text().find("do not fit"), std::string::npos);
}

}  // namespace
}  // namespace tutti::ops
