#include "ops/tolerance.h"

#include <cmath>

#include <gtest/gtest.h>

namespace tutti::ops {
namespace {

using ir::Tensor;
using ir::Tolerance;

TEST(Tolerance, counts_nan_as_equal_to_nan) {
  const Tensor nan = Tensor::scalar<float>(NAN);
  EXPECT_TRUE(compare_tensors(nan, nan.clone(), Tolerance::kExact).pass);
  EXPECT_FALSE(compare_tensors(Tensor::scalar<float>(1), nan, Tolerance::kApproximate).pass);
}

TEST(Tolerance, names_the_first_element_that_differs) {
  const auto found =
      compare_tensors(Tensor::from<float>({3}, {1, 2, 4}), Tensor::from<float>({3}, {1, 2, 3}), Tolerance::kRounding);
  EXPECT_FALSE(found.pass);
  EXPECT_EQ(found.first_failure, 2);
  EXPECT_EQ(found.max_absolute_error, 1);
  EXPECT_NE(found.text.find("element 2 is 4; expected 3"), std::string::npos) << found.text;
}

TEST(Tolerance, reports_the_largest_errors_and_takes_a_lone_infinity_for_one) {
  const auto found = compare_tensors(Tensor::from<float>({3}, {8, 1.5f, 100}), Tensor::from<float>({3}, {8, 1, 98}),
                                     Tolerance::kRounding);
  EXPECT_EQ(found.max_absolute_error, 2);
  EXPECT_EQ(found.max_relative_error, 0.5);
  EXPECT_EQ(found.failures, 2);
  const Tensor infinite = Tensor::scalar<float>(INFINITY);
  EXPECT_TRUE(compare_tensors(Tensor::from<float>({2}, {INFINITY, 1}), Tensor::from<float>({2}, {INFINITY, 1.0000001f}),
                              Tolerance::kRounding)
                  .pass);
  EXPECT_TRUE(std::isinf(compare_tensors(Tensor::scalar<float>(1), infinite, Tolerance::kRounding).max_absolute_error));
  EXPECT_FALSE(compare_tensors(infinite, Tensor::scalar<float>(-INFINITY), Tolerance::kApproximate).pass);
}

TEST(Tolerance, forgives_rounding_relative_to_the_scale_of_the_output) {
  const Tensor reference = Tensor::from<float>({2}, {1000, 0});
  EXPECT_TRUE(compare_tensors(Tensor::from<float>({2}, {1000, 0.005f}), reference, Tolerance::kRounding).pass);
  EXPECT_FALSE(compare_tensors(Tensor::from<float>({2}, {1000, 0.05f}), reference, Tolerance::kRounding).pass);
  EXPECT_FALSE(compare_tensors(Tensor::from<float>({2}, {1000, 0.005f}), reference, Tolerance::kExact).pass);
}

TEST(Tolerance, keeps_integers_exact_unless_they_are_approximated) {
  const Tensor a = Tensor::scalar<int8_t>(3), b = Tensor::scalar<int8_t>(4);
  EXPECT_FALSE(compare_tensors(a, b, Tolerance::kRounding).pass);
  EXPECT_TRUE(compare_tensors(a, b, Tolerance::kApproximate).pass);
}

TEST(Tolerance, refuses_another_shape) {
  const auto found = compare_tensors(Tensor::from<float>({1}, {1}), Tensor::scalar<float>(1), Tolerance::kApproximate);
  EXPECT_FALSE(found.pass);
  EXPECT_EQ(found.text, "the result is float32[1]; expected float32[]");
}

}  // namespace
}  // namespace tutti::ops
