#include "ops/loss.h"

#include <gtest/gtest.h>

#include <cmath>

#include "unit/ops/eval_support.h"

namespace tutti::ops {
namespace {

using ir::Tensor;

TEST(Loss, the_mean_is_over_the_weights_of_counted_targets) {
  LossAttrs attrs;
  attrs.ignore_index = 2;
  const auto out = run_op(kNegativeLogLikelihoodLoss,
                          {Tensor::from<float>({3, 2}, {-1, -2, -3, -4, -5, -6}), Tensor::from<int64_t>({3}, {0, 1, 2}),
                           Tensor::from<float>({2}, {1, 3})},
                          attrs);
  ASSERT_TRUE(out.ok()) << out.error().text();
  EXPECT_FLOAT_EQ((*out)[0].tensor().data<float>()[0], (1 * 1 + 4 * 3) / 4.0f);
}

TEST(Loss, softmax_cross_entropy_of_equal_scores_is_the_logarithm_of_the_classes) {
  const auto out = run_op(kSoftmaxCrossEntropyLoss,
                          {Tensor::from<float>({1, 4}, {7, 7, 7, 7}), Tensor::from<int64_t>({1}, {2})}, {}, 2);
  ASSERT_TRUE(out.ok()) << out.error().text();
  EXPECT_FLOAT_EQ((*out)[0].tensor().data<float>()[0], std::log(4.0f));
  EXPECT_FLOAT_EQ((*out)[1].tensor().data<float>()[0], -std::log(4.0f));
}

TEST(Loss, a_class_out_of_range_is_named) {
  const auto out =
      run_op(kNegativeLogLikelihoodLoss, {Tensor::from<float>({1, 2}, {0, 0}), Tensor::from<int64_t>({1}, {5})});
  ASSERT_FALSE(out.ok());
  EXPECT_NE(out.error().message().find("found class 5, expected 0 to 1"), std::string::npos);
}

}  // namespace
}  // namespace tutti::ops
