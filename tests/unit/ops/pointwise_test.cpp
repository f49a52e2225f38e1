#include "ops/pointwise.h"
#include "ops/random.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "ir/builder.h"
#include "ops/cast.h"
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

TEST(Pointwise, broadcasts_both_operands) {
  const Tensor out = run_one(kAdd, {Tensor::from<float>({2, 1}, {10, 20}), Tensor::from<float>({3}, {1, 2, 3})});
  EXPECT_EQ(out.dims(), (ir::Dims{2, 3}));
  EXPECT_EQ(out.to_float(), (std::vector<float>{11, 12, 13, 21, 22, 23}));
}

TEST(Pointwise, broadcasts_over_an_empty_dimension) {
  EXPECT_EQ(run_one(kMul, {Tensor::from<float>({0, 3}, {}), Tensor::from<float>({1}, {2})}).dims(), (ir::Dims{0, 3}));
}

TEST(Pointwise, walks_runs_longer_than_a_block) {
  std::vector<float> values(1000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const Tensor out = run_one(kSub, {Tensor::from<float>({2, 500}, values), Tensor::from<float>({2, 1}, {0, 500})});
  EXPECT_EQ(out.to_float()[999], 499);
}

TEST(Pointwise, adds_int64_exactly_and_wraps) {
  const int64_t big = (int64_t{1} << 53) + 1, top = std::numeric_limits<int64_t>::max();
  const Tensor out = run_one(kAdd, {Tensor::from<int64_t>({2}, {big, top}), Tensor::from<int64_t>({1}, {1})});
  EXPECT_EQ(out.to_int64(), (std::vector<int64_t>{big + 1, std::numeric_limits<int64_t>::min()}));
}

TEST(Div, truncates_toward_zero_and_never_traps) {
  const int64_t low = std::numeric_limits<int64_t>::min();
  const Tensor out =
      run_one(kDiv, {Tensor::from<int64_t>({4}, {-7, 7, 1, low}), Tensor::from<int64_t>({4}, {2, -2, 0, -1})});
  EXPECT_EQ(out.to_int64(), (std::vector<int64_t>{-3, -3, 0, low}));
}

TEST(Mod, takes_the_sign_of_the_divisor_unless_fmod) {
  const std::vector<ir::Datum> inputs{Tensor::from<int32_t>({3}, {-4, 7, 5}), Tensor::from<int32_t>({3}, {3, -3, 0})};
  EXPECT_EQ(run_one(kMod, inputs).to_int64(), (std::vector<int64_t>{2, -2, 0}));
  ModAttrs attrs;
  attrs.fmod = true;
  EXPECT_EQ(run_one(kMod, inputs, attrs).to_int64(), (std::vector<int64_t>{-1, 1, 0}));
}

TEST(Pow, keeps_integer_powers_exact) {
  const Tensor out = run_one(kPow, {Tensor::from<int64_t>({3}, {3, 2, -1}), Tensor::from<int64_t>({3}, {39, -1, -3})});
  EXPECT_EQ(out.to_int64(), (std::vector<int64_t>{4052555153018976267, 0, -1}));
}

TEST(Max, lets_nan_through) {
  const Tensor out = run_one(kMax, {Tensor::from<float>({2}, {NAN, 1}), Tensor::from<float>({2}, {1, 2})});
  EXPECT_TRUE(std::isnan(out.to_float()[0]));
  EXPECT_EQ(out.to_float()[1], 2);
}

TEST(Where, chooses_strings) {
  const Tensor out = run_one(
      kWhere, {Tensor::from<bool>({2}, {true, false}), Tensor::strings({2}, {"a", "b"}), Tensor::strings({}, {"c"})});
  EXPECT_EQ(out.string_data()[0], "a");
  EXPECT_EQ(out.string_data()[1], "c");
}

TEST(Pointwise, says_which_types_differ) {
  ir::GraphBuilder builder;
  const auto a = builder.input("a", ir::ValueType::tensor(DType::kFloat32, ir::Shape{2}));
  const auto b = builder.input("b", ir::ValueType::tensor(DType::kInt64, ir::Shape{2}));
  builder.output("y", builder.node(kAdd, {a, b}));
  const auto graph = std::move(builder).finish();
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.error().text().find("input 0 has element type float32 but input 1 has int64"), std::string::npos)
      << graph.error().text();
}

TEST(Dropout, drops_its_share_in_training_and_scales_the_rest) {
  const Tensor x = Tensor::from<float>({1000}, std::vector<float>(1000, 3));
  DropoutAttrs attrs;
  attrs.seed = 7;
  const auto drop = [&](bool training) {
    return run_op(kDropout, {x, Tensor::scalar<float>(0.25f), Tensor::scalar<bool>(training)}, attrs, 2);
  };
  const auto out = drop(true);
  ASSERT_TRUE(out.ok()) << out.error().text();
  int64_t kept = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    const bool keep = (*out)[1].tensor().get_int(i) != 0;
    EXPECT_EQ((*out)[0].tensor().get_double(i), keep ? 4 : 0) << i;
    kept += keep;
  }
  EXPECT_GT(kept, 690);  // 750, more than four deviations of 14 away
  EXPECT_LT(kept, 810);
  EXPECT_TRUE(identical((*drop(true))[1].tensor(), (*out)[1].tensor()));
  EXPECT_TRUE(identical((*drop(false))[0].tensor(), x));
}

TEST(Dropout, names_a_ratio_out_of_range) {
  const std::string text =
      run_error(kDropout, {Tensor::from<float>({1}, {1}), Tensor::scalar<float>(1), Tensor::scalar<bool>(true)});
  EXPECT_NE(text.find("ratio is 1; expected 0 or more and less than 1"), std::string::npos) << text;
}

Tensor cast(const Tensor& in, DType to, bool saturate = true) {
  CastAttrs attrs;
  attrs.to = to;
  attrs.saturate = saturate;
  return run_one(kCast, {in}, attrs);
}

TEST(Cast, keeps_the_low_bits_of_integers) {
  EXPECT_EQ(cast(Tensor::scalar<int16_t>(200), DType::kInt8).get_int(0), -56);
}

TEST(Cast, rounds_wide_integers_once) {
  const int64_t value = (int64_t{1} << 60) + (int64_t{1} << 36) + 1;  // just above the midpoint of two floats
  EXPECT_EQ(cast(Tensor::scalar<int64_t>(value), DType::kFloat32).get_double(0),
            static_cast<double>(static_cast<float>(value)));
}

TEST(Cast, saturates_small_floats_only_when_asked) {
  EXPECT_EQ(cast(Tensor::scalar<float>(1e6f), DType::kFloat8E4M3FN).get_double(0), 448);
  EXPECT_TRUE(std::isnan(cast(Tensor::scalar<float>(1e6f), DType::kFloat8E4M3FN, false).get_double(0)));
}

TEST(Cast, packs_four_bit_integers) {
  const Tensor out = cast(Tensor::from<int32_t>({3}, {-8, 7, 3}), DType::kInt4);
  EXPECT_EQ(out.size_bytes(), 2u);
  EXPECT_EQ(out.to_int64(), (std::vector<int64_t>{-8, 7, 3}));
}

TEST(Cast, reads_and_writes_numbers_as_text) {
  EXPECT_EQ(cast(Tensor::strings({3}, {"1e-3", "+INF", " 7 "}), DType::kFloat32).to_float(),
            (std::vector<float>{1e-3f, INFINITY, 7}));
  EXPECT_EQ(cast(Tensor::strings({1}, {"9007199254740993"}), DType::kInt64).get_int(0), 9007199254740993);
  EXPECT_EQ(cast(Tensor::scalar<float>(0.1f), DType::kString).string_data()[0], "0.1");
}

TEST(Cast, names_the_text_that_is_no_number) {
  CastAttrs attrs;
  attrs.to = DType::kFloat32;
  auto out = run_op(kCast, {Tensor::strings({1}, {"hello"})}, attrs);
  ASSERT_FALSE(out.ok());
  EXPECT_NE(out.error().text().find("cannot cast the string 'hello' to a number"), std::string::npos);
}

}  // namespace
}  // namespace tutti::ops
