#include "ops/einsum.h"

#include <gtest/gtest.h>

#include "unit/ops/eval_support.h"

namespace tutti::ops {
namespace {

using ir::Tensor;

Result<std::vector<ir::Datum>> einsum(const std::string& equation, std::vector<ir::Datum> inputs) {
  EinsumAttrs attrs;
  attrs.equation = equation;
  return run_op(kEinsum, std::move(inputs), attrs);
}

TEST(Einsum, a_repeated_letter_walks_the_diagonal) {
  const auto out = einsum("ii->", {Tensor::from<float>({2, 2}, {1, 2, 3, 4})});
  ASSERT_TRUE(out.ok()) << out.error().text();
  EXPECT_EQ((*out)[0].tensor().to_float(), (std::vector<float>{5}));
}

TEST(Einsum, without_an_arrow_the_letters_that_occur_once_remain_in_order) {
  const auto out = einsum("ba", {Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6})});
  ASSERT_TRUE(out.ok()) << out.error().text();
  EXPECT_EQ((*out)[0].tensor().dims(), (ir::Dims{3, 2}));
  EXPECT_EQ((*out)[0].tensor().to_float(), (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

TEST(Einsum, sizes_that_contradict_are_named) {
  const auto out =
      einsum("ij,jk->ik", {Tensor::zeros(ir::DType::kFloat32, {2, 3}), Tensor::zeros(ir::DType::kFloat32, {4, 5})});
  ASSERT_FALSE(out.ok());
  EXPECT_NE(out.error().message().find("found sizes 3 and 4 for one index"), std::string::npos);
}

}  // namespace
}  // namespace tutti::ops
