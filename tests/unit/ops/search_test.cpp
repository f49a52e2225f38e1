#include "ops/search.h"

#include <cmath>

#include <gtest/gtest.h>

#include "unit/ops/eval_support.h"

namespace tutti::ops {
namespace {

using ir::Tensor;

TEST(TopK, breaks_ties_by_the_smaller_index) {
  auto out = run_op(kTopK, {Tensor::from<float>({4}, {2, 5, 5, 1}), Tensor::from<int64_t>({1}, {2})}, {}, 2);
  ASSERT_TRUE(out.ok()) << out.error().text();
  EXPECT_EQ((*out)[1].tensor().to_int64(), (std::vector<int64_t>{1, 2}));
}

TEST(TopK, refuses_more_elements_than_there_are) {
  EXPECT_FALSE(run_op(kTopK, {Tensor::from<float>({2}, {2, 5}), Tensor::from<int64_t>({1}, {3})}, {}, 2).ok());
  EXPECT_FALSE(run_op(kTopK, {Tensor::from<float>({2}, {2, 5}), Tensor::from<int64_t>({1}, {-1})}, {}, 2).ok());
}

TEST(Unique, keeps_the_order_of_first_appearance_when_not_sorted) {
  UniqueAttrs attrs;
  attrs.sorted = false;
  auto out = run_op(kUnique, {Tensor::from<float>({5}, {2, 1, 1, 3, 2})}, attrs, 4);
  ASSERT_TRUE(out.ok()) << out.error().text();
  EXPECT_EQ((*out)[0].tensor().to_float(), (std::vector<float>{2, 1, 3}));
  EXPECT_EQ((*out)[2].tensor().to_int64(), (std::vector<int64_t>{0, 1, 1, 2, 0}));
  EXPECT_EQ((*out)[3].tensor().to_int64(), (std::vector<int64_t>{2, 2, 1}));
}

TEST(NonMaxSuppression, survives_scores_that_are_not_numbers) {
  auto out = run_op(kNonMaxSuppression, {Tensor::from<float>({1, 2, 4}, {0, 0, 1, 1, 0, 0, NAN, 1}),
                                         Tensor::from<float>({1, 1, 2}, {NAN, 0.5f}), Tensor::from<int64_t>({1}, {5})});
  ASSERT_TRUE(out.ok()) << out.error().text();
}

TEST(NonMaxSuppression, refuses_boxes_and_scores_that_do_not_fit) {
  EXPECT_FALSE(run_op(kNonMaxSuppression,
                      {Tensor::zeros(ir::DType::kFloat32, {1, 2, 4}), Tensor::zeros(ir::DType::kFloat32, {1, 1, 3})})
                   .ok());
}

}  // namespace
}  // namespace tutti::ops
