#include <gtest/gtest.h>

#include <cmath>

#include "ops/image_grid.h"
#include "ops/interpreter.h"
#include "ops/linear_attention.h"
#include "ops/pool.h"

namespace tutti::ops {
namespace {

using namespace ir;

Result<Tensor> run(const OpDef& op, Attrs attrs, std::vector<Datum> inputs) {
  auto results = TUTTI_TRY(evaluate({.op = op, .attrs = attrs, .inputs = inputs, .output_count = op.max_outputs}));
  return results[0].tensor();
}

std::string error_of(const Result<Tensor>& result) { return result.ok() ? "no error" : result.error().text(); }

TEST(MaxUnpool, puts_back_what_max_pool_took) {
  MaxPoolAttrs pool;
  pool.kernel_shape = pool.strides = {2, 2};
  const Tensor x = Tensor::from<float>({1, 1, 4, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
  const Datum inputs[] = {x};
  const auto pooled = evaluate({.op = kMaxPool, .attrs = Attrs(pool), .inputs = inputs, .output_count = 2});
  ASSERT_TRUE(pooled.ok()) << pooled.error().text();
  MaxUnpoolAttrs unpool;
  unpool.kernel_shape = unpool.strides = {2, 2};
  const auto y = run(kMaxUnpool, Attrs(unpool), {(*pooled)[0], (*pooled)[1]});
  ASSERT_TRUE(y.ok()) << error_of(y);
  EXPECT_EQ(y->to_float(), (std::vector<float>{0, 0, 0, 0, 0, 6, 0, 8, 0, 0, 0, 0, 0, 14, 0, 16}));
}

TEST(MaxUnpool, refuses_an_index_outside_the_output) {
  MaxUnpoolAttrs attrs;
  attrs.kernel_shape = {2};
  const auto y =
      run(kMaxUnpool, Attrs(attrs), {Tensor::from<float>({1, 1, 1}, {5}), Tensor::from<int64_t>({1, 1, 1}, {2})});
  EXPECT_NE(error_of(y).find("I has the index 2, expected 0 to 1"), std::string::npos) << error_of(y);
}

TEST(RoiAlign, averages_a_constant_image_to_the_constant) {
  RoiAlignAttrs attrs;
  attrs.output_height = 3;
  attrs.output_width = 2;
  const auto y = run(kRoiAlign, Attrs(attrs),
                     {Tensor::from<float>({1, 1, 2, 2}, {7, 7, 7, 7}), Tensor::from<float>({1, 4}, {0, 0, 2, 2}),
                      Tensor::from<int64_t>({1}, {0})});
  ASSERT_TRUE(y.ok()) << error_of(y);
  for (const float v : y->to_float()) EXPECT_FLOAT_EQ(v, 7);
}

TEST(RoiAlign, refuses_images_that_are_not_there_and_coordinates_that_are_not_numbers) {
  const Tensor x = Tensor::from<float>({1, 1, 1, 1}, {1});
  const auto image = run(kRoiAlign, Attrs(RoiAlignAttrs{}),
                         {x, Tensor::from<float>({1, 4}, {0, 0, 1, 1}), Tensor::from<int64_t>({1}, {3})});
  EXPECT_NE(error_of(image).find("roi 0 is of image 3, expected 0 to 0"), std::string::npos) << error_of(image);
  const auto nan = run(kRoiAlign, Attrs(RoiAlignAttrs{}),
                       {x, Tensor::from<float>({1, 4}, {0, NAN, 1, 1}), Tensor::from<int64_t>({1}, {0})});
  EXPECT_NE(error_of(nan).find("roi 0 has the coordinate"), std::string::npos) << error_of(nan);
}

TEST(MaxRoiPool, takes_the_largest_of_each_bin) {
  MaxRoiPoolAttrs attrs;
  attrs.pooled_shape = {1, 2};
  const Tensor x = Tensor::from<float>({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto y = run(kMaxRoiPool, Attrs(attrs), {x, Tensor::from<float>({1, 5}, {0, 0, 0, 3, 1})});
  ASSERT_TRUE(y.ok()) << error_of(y);
  EXPECT_EQ(y->to_float(), (std::vector<float>{6, 8}));
}

// One pixel has two corners at once; as in ONNX's reference it is the first, -1.
TEST(AffineGrid, puts_the_only_pixel_of_an_axis_at_its_first_corner) {
  AffineGridAttrs attrs;
  attrs.align_corners = true;
  const Tensor theta = Tensor::from<float>({1, 2, 3}, {1, 0, 0, 0, 1, 0});
  const auto y = run(kAffineGrid, Attrs(attrs), {theta, Tensor::from<int64_t>({4}, {1, 1, 1, 3})});
  ASSERT_TRUE(y.ok()) << y.error().text();
  EXPECT_EQ(y->to_float(), (std::vector<float>{-1, -1, 0, -1, 1, -1}));
}

TEST(AffineGrid, gives_the_pixel_centres_for_the_identity) {
  const Tensor theta = Tensor::from<float>({1, 2, 3}, {1, 0, 0, 0, 1, 0});
  const auto y = run(kAffineGrid, Attrs(AffineGridAttrs{}), {theta, Tensor::from<int64_t>({4}, {1, 1, 1, 2})});
  ASSERT_TRUE(y.ok()) << error_of(y);
  EXPECT_EQ(y->dims(), (Dims{1, 1, 2, 2}));
  EXPECT_EQ(y->to_float(), (std::vector<float>{-0.5f, 0, 0.5f, 0}));
}

TEST(Col2Im, adds_blocks_where_they_overlap) {
  const auto y = run(kCol2Im, Attrs(Col2ImAttrs{}),
                     {Tensor::from<float>({1, 2, 2}, {1, 2, 3, 4}), Tensor::from<int64_t>({2}, {1, 3}),
                      Tensor::from<int64_t>({2}, {1, 2})});
  ASSERT_TRUE(y.ok()) << error_of(y);
  EXPECT_EQ(y->to_float(), (std::vector<float>{1, 5, 4}));
}

TEST(Col2Im, refuses_a_number_of_blocks_that_does_not_fit) {
  const auto y = run(
      kCol2Im, Attrs(Col2ImAttrs{}),
      {Tensor::from<float>({1, 2, 1}, {1, 2}), Tensor::from<int64_t>({2}, {1, 3}), Tensor::from<int64_t>({2}, {1, 2})});
  EXPECT_NE(error_of(y).find("the number of blocks of input is 1, expected 2"), std::string::npos) << error_of(y);
}

TEST(CausalConvWithState, gives_the_same_in_two_steps_as_in_one) {
  const Tensor w = Tensor::from<float>({1, 1, 3}, {1, 2, 3}), x = Tensor::from<float>({1, 1, 4}, {1, -1, 2, 5});
  const auto whole = run(kCausalConvWithState, Attrs(CausalConvWithStateAttrs{}), {x, w});
  ASSERT_TRUE(whole.ok()) << error_of(whole);
  const Datum first[] = {Tensor::from<float>({1, 1, 1}, {1}), w};
  const Attrs attrs{CausalConvWithStateAttrs{}};
  const auto step = evaluate({.op = kCausalConvWithState, .attrs = attrs, .inputs = first, .output_count = 2});
  ASSERT_TRUE(step.ok()) << step.error().text();
  const auto rest =
      run(kCausalConvWithState, attrs, {Tensor::from<float>({1, 1, 3}, {-1, 2, 5}), w, Datum(), (*step)[1]});
  ASSERT_TRUE(rest.ok()) << error_of(rest);
  EXPECT_EQ(whole->to_float(), (std::vector<float>{3, -1, 5, 18}));
  EXPECT_EQ(rest->to_float(), (std::vector<float>{-1, 5, 18}));
}

TEST(LinearAttention, needs_the_gates_of_its_rule) {
  LinearAttentionAttrs attrs;
  attrs.q_num_heads = attrs.kv_num_heads = 1;
  attrs.update_rule = UpdateRule::kLinear;
  const Tensor one = Tensor::from<float>({1, 2, 1}, {1, 2});
  const auto y = run(kLinearAttention, Attrs(attrs), {one, one, one});
  ASSERT_TRUE(y.ok()) << error_of(y);
  EXPECT_EQ(y->to_float(), (std::vector<float>{1, 10}));  // 1*1*1; 2*(1*1 + 2*2)
}

}  // namespace
}  // namespace tutti::ops
