#include "ops/reduce.h"

#include <cmath>

#include <gtest/gtest.h>

#include "unit/ops/eval_support.h"

namespace tutti::ops {
namespace {

using ir::DType;
using ir::Tensor;

Tensor run_one(const ir::OpDef& op, std::vector<ir::Datum> inputs, ir::Attrs attrs = {}) {
  auto out = run_op(op, std::move(inputs), std::move(attrs));
  EXPECT_TRUE(out.ok()) << out.error().text();
  return out.ok() ? (*out)[0].tensor() : Tensor();
}

TEST(Reduce, gives_the_neutral_element_over_nothing) {
  const Tensor empty = Tensor::zeros(DType::kFloat32, {2, 0}), axis = Tensor::from<int64_t>({1}, {1});
  EXPECT_EQ(run_one(kReduceSum, {empty, axis}).to_float(), (std::vector<float>{0, 0}));
  EXPECT_EQ(run_one(kReduceProd, {empty, axis}).to_float(), (std::vector<float>{1, 1}));
  EXPECT_EQ(run_one(kReduceMax, {empty, axis}).to_float(), (std::vector<float>{-INFINITY, -INFINITY}));
  EXPECT_EQ(run_one(kReduceMin, {Tensor::zeros(DType::kInt8, {1, 0}), axis}).to_int64(), (std::vector<int64_t>{127}));
}

TEST(Reduce, keeps_int64_sums_exact) {
  const int64_t big = (int64_t{1} << 53) + 1;
  EXPECT_EQ(run_one(kReduceSum, {Tensor::from<int64_t>({2}, {big, 2})}).get_int(0), big + 2);
}

TEST(Reduce, squares_even_when_no_axis_is_reduced) {
  ReduceAttrs attrs;
  attrs.noop_with_empty_axes = true;
  EXPECT_EQ(run_one(kReduceSumSquare, {Tensor::from<float>({2}, {2, 3})}, attrs).to_float(),
            (std::vector<float>{4, 9}));
}

TEST(Reduce, folds_axes_that_are_not_neighbours) {
  std::vector<float> values(12);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  ReduceAttrs attrs;
  attrs.keepdims = false;
  const Tensor out =
      run_one(kReduceSum, {Tensor::from<float>({2, 3, 2}, values), Tensor::from<int64_t>({2}, {0, -1})}, attrs);
  EXPECT_EQ(out.to_float(), (std::vector<float>{0 + 1 + 6 + 7, 2 + 3 + 8 + 9, 4 + 5 + 10 + 11}));
}

TEST(Reduce, takes_the_logarithm_of_large_exponentials_without_overflow) {
  EXPECT_NEAR(run_one(kReduceLogSumExp, {Tensor::from<float>({2}, {1000, 1000})}).get_double(0), 1000 + std::log(2.0),
              1e-3);
}

TEST(Reduce, refuses_an_axis_given_twice) {
  auto out = run_op(kReduceSum, {Tensor::zeros(DType::kFloat32, {2, 2}), Tensor::from<int64_t>({2}, {0, -2})});
  ASSERT_FALSE(out.ok());
  EXPECT_NE(out.error().text().find("twice"), std::string::npos);
}

TEST(ArgMax, selects_the_last_of_equals_on_request) {
  const Tensor x = Tensor::from<float>({4}, {1, 3, 3, 2});
  EXPECT_EQ(run_one(kArgMax, {x}).get_int(0), 1);
  ArgAttrs attrs;
  attrs.select_last_index = true;
  EXPECT_EQ(run_one(kArgMax, {x}, attrs).get_int(0), 2);
}

TEST(CumSum, runs_backwards_and_leaves_the_element_out) {
  CumulativeAttrs attrs;
  attrs.exclusive = attrs.reverse = true;
  EXPECT_EQ(run_one(kCumSum, {Tensor::from<float>({3}, {1, 2, 3}), Tensor::scalar<int64_t>(0)}, attrs).to_float(),
            (std::vector<float>{5, 3, 0}));
}

}  // namespace
}  // namespace tutti::ops
