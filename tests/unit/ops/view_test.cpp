#include "ops/view.h"

#include <gtest/gtest.h>

#include "ir/builder.h"
#include "ops/cast.h"
#include "ops/indexing.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "unit/ops/eval_support.h"

namespace tutti::ops {
namespace {

using ir::Dim;
using ir::DType;
using ir::GraphBuilder;
using ir::Shape;
using ir::Tensor;
using ir::ValueId;
using ir::ValueType;

Tensor run_one(const ir::OpDef& op, std::vector<ir::Datum> inputs, ir::Attrs attrs = {}) {
  auto out = run_op(op, std::move(inputs), std::move(attrs));
  EXPECT_TRUE(out.ok()) << out.error().text();
  return out.ok() ? (*out)[0].tensor() : Tensor();
}

Tensor ints(std::vector<int64_t> values) {
  return Tensor::from<int64_t>({static_cast<int64_t>(values.size())}, values);
}

struct ShapeArithmetic : testing::Test {
  ShapeArithmetic() {
    x = builder.input("x", ValueType::tensor(DType::kFloat32, Shape{Dim::symbol("n"), 12, Dim::symbol("s")}));
  }
  ValueId dim(int64_t axis) {
    return builder.node(kGather, {builder.node(kShape, {x}, ShapeAttrs{}), builder.scalar<int64_t>(axis)},
                        GatherAttrs{});
  }
  ValueId vector(ValueId scalar) { return builder.node(kUnsqueeze, {scalar, builder.ints({0})}); }
  std::string shape_of(ValueId value) { return builder.type(value).text(); }
  GraphBuilder builder;
  ValueId x;
};

TEST_F(ShapeArithmetic, resolves_the_split_heads_of_an_exporter) {
  const ValueId width = builder.node(kDiv, {dim(1), builder.scalar<int64_t>(4)});
  const ValueId target =
      builder.node(kConcat, {vector(dim(0)), builder.ints({4}), vector(width), builder.ints({-1})}, ConcatAttrs{});
  EXPECT_EQ(shape_of(builder.node(kReshape, {x, target}, ReshapeAttrs{})), "float32[n,4,3,s]");
}

TEST_F(ShapeArithmetic, squeezes_without_axes_when_each_dim_is_known) {
  const ValueId known = builder.input("known", ValueType::tensor(DType::kFloat32, Shape{1, 5, 1, 3}));
  EXPECT_EQ(shape_of(builder.node(kSqueeze, {known})), "float32[5,3]");
  // n may be 1 at run time, and would go as well.
  const ValueId open = builder.input("open", ValueType::tensor(DType::kFloat32, Shape{1, Dim::symbol("n"), 1, 3}));
  EXPECT_EQ(shape_of(builder.node(kSqueeze, {open})), "float32[?]");
  EXPECT_EQ(run_one(kSqueeze, {Tensor::zeros(DType::kFloat32, {1, 1, 1, 3})}).dims(), (ir::Dims{3}));
}

TEST_F(ShapeArithmetic, resolves_slices_up_to_a_dimension) {
  const ValueId half = builder.node(kDiv, {vector(dim(2)), builder.ints({2})});
  const ValueId head = builder.node(kSlice, {x, builder.ints({0}), half, builder.ints({2})});
  const ValueId tail = builder.node(kSlice, {x, half, builder.ints({INT64_MAX}), builder.ints({2})});
  const Shape &first = *builder.type(head).shape, &second = *builder.type(tail).shape;
  EXPECT_EQ(first[2] + second[2], Dim::symbol("s"));
}

TEST_F(ShapeArithmetic, resolves_expand_through_where_and_equal) {
  const ValueId shape = builder.node(kShape, {x}, ShapeAttrs{});
  const ValueId missing = builder.node(kEqual, {shape, builder.ints({-1})});
  const ValueId target = builder.node(kWhere, {missing, builder.ints({1}), shape});
  EXPECT_EQ(shape_of(builder.node(kExpand, {builder.scalar<float>(1), target})), "float32[n,12,s]");
}

TEST_F(ShapeArithmetic, resolves_a_range_over_a_dimension_and_products) {
  const ValueId range =
      builder.node(kRange, {builder.scalar<int64_t>(0), dim(2), builder.scalar<int64_t>(1)}, RangeAttrs{});
  EXPECT_EQ(shape_of(range), "int64[s]");
  ReduceAttrs attrs;
  attrs.keepdims = true;
  const ValueId count = builder.node(kReduceProd, {builder.node(kShape, {x}, ShapeAttrs{})}, attrs);
  EXPECT_EQ(shape_of(builder.node(kReshape, {x, count}, ReshapeAttrs{})), "float32[12*n*s]");
}

TEST(Reshape, names_both_shapes_when_counts_differ) {
  GraphBuilder builder;
  const ValueId x = builder.input("x", ValueType::tensor(DType::kFloat32, Shape{2, 3}));
  builder.output("y", builder.node(kReshape, {x, builder.ints({4, 2})}, ReshapeAttrs{}));
  const auto graph = std::move(builder).finish();
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.error().text().find("cannot reshape [2,3] to [4,2]"), std::string::npos) << graph.error().text();
}

TEST(Reshape, finds_the_wildcard_beside_copied_dimensions_of_an_empty_tensor) {
  const auto reshaped = [](const ir::Dims& dims, const std::vector<int64_t>& target) {
    return run_one(kReshape, {Tensor::zeros(DType::kFloat32, dims), ints(target)}).dims();
  };
  EXPECT_EQ(reshaped({0, 5, 3, 4}, {0, 0, -1}), (ir::Dims{0, 5, 12}));
  EXPECT_EQ(reshaped({0, 5, 12}, {0, -1, 4}), (ir::Dims{0, 15, 4}));
  EXPECT_EQ(reshaped({5, 0}, {-1, 0, 1}), (ir::Dims{5, 0, 1}));
}

TEST(Reshape, copies_zero_dimensions_unless_allowzero) {
  EXPECT_EQ(run_one(kReshape, {Tensor::zeros(DType::kFloat32, {2, 6}), ints({0, 2, -1})}).dims(), (ir::Dims{2, 2, 3}));
  ReshapeAttrs attrs;
  attrs.allowzero = true;
  EXPECT_EQ(run_one(kReshape, {Tensor::zeros(DType::kFloat32, {0, 6}), ints({3, 0})}, attrs).dims(), (ir::Dims{3, 0}));
}

TEST(Slice, reverses_and_clamps_absurd_bounds) {
  const Tensor x = ints({0, 1, 2, 3, 4});
  EXPECT_EQ(run_one(kSlice, {x, ints({-1}), ints({INT64_MIN}), ints({0}), ints({-2})}).to_int64(),
            (std::vector<int64_t>{4, 2, 0}));
  EXPECT_EQ(run_one(kSlice, {x, ints({INT64_MIN}), ints({INT64_MAX}), ints({0}), ints({INT64_MAX})}).to_int64(),
            (std::vector<int64_t>{0}));
  EXPECT_EQ(run_one(kSlice, {x, ints({INT64_MAX}), ints({INT64_MIN}), ints({0}), ints({INT64_MIN})}).to_int64(),
            (std::vector<int64_t>{4}));
}

TEST(Slice, refuses_a_step_of_zero) {
  auto out = run_op(kSlice, {ints({1, 2}), ints({0}), ints({1}), ints({0}), ints({0})});
  ASSERT_FALSE(out.ok());
  EXPECT_NE(out.error().text().find("steps contains 0"), std::string::npos);
}

TEST(Transpose, moves_packed_elements) {
  Tensor in = Tensor::zeros(DType::kInt4, {2, 3});
  for (int64_t i = 0; i < 6; ++i) in.set_int(i, i);
  EXPECT_EQ(run_one(kTranspose, {in}).to_int64(), (std::vector<int64_t>{0, 3, 1, 4, 2, 5}));
}

TEST(Transpose, refuses_axes_counted_from_the_end) {
  TransposeAttrs attrs;
  attrs.perm = {-1, 0};
  auto out = run_op(kTranspose, {Tensor::zeros(DType::kFloat32, {2, 3})}, ir::Attrs(attrs));
  ASSERT_FALSE(out.ok());
  EXPECT_NE(out.error().text().find("perm has the axis -1"), std::string::npos) << out.error().text();
}

TEST(Reshape, refuses_an_empty_shape_with_an_unknown_for_elements) {
  ReshapeAttrs attrs;
  attrs.allowzero = true;
  auto out = run_op(kReshape, {Tensor::zeros(DType::kFloat32, {1, 4}), ints({0, -1})}, ir::Attrs(attrs));
  ASSERT_FALSE(out.ok());
  EXPECT_NE(out.error().text().find("[1,4], which is not empty"), std::string::npos) << out.error().text();
}

TEST(Pad, reflects_further_than_the_tensor_is_long) {
  PadAttrs attrs;
  attrs.mode = PadMode::kReflect;
  EXPECT_EQ(run_one(kPad, {ints({0, 1, 2}), ints({4, 3})}, attrs).to_int64(),
            (std::vector<int64_t>{0, 1, 2, 1, 0, 1, 2, 1, 0, 1}));
}

TEST(Pad, removes_elements_where_pads_are_negative) {
  EXPECT_EQ(run_one(kPad, {ints({0, 1, 2, 3}), ints({-1, 1}), Tensor::scalar<int64_t>(9)}).to_int64(),
            (std::vector<int64_t>{1, 2, 3, 9}));
}

TEST(Split, makes_the_last_part_smaller) {
  auto out = run_op(kSplit, {ints({0, 1, 2, 3, 4})}, {}, 2);
  ASSERT_TRUE(out.ok()) << out.error().text();
  EXPECT_EQ((*out)[1].tensor().to_int64(), (std::vector<int64_t>{3, 4}));
}

TEST(Gather, counts_negative_indices_from_the_end_and_refuses_others) {
  EXPECT_EQ(run_one(kGather, {ints({5, 6, 7}), ints({-1, 0})}).to_int64(), (std::vector<int64_t>{7, 5}));
  auto out = run_op(kGather, {ints({5, 6, 7}), ints({3})});
  ASSERT_FALSE(out.ok());
  EXPECT_NE(out.error().text().find("index 3 is out of bounds; expected -3 to 2"), std::string::npos)
      << out.error().text();
}

TEST(ScatterElements, adds_repeated_indices_exactly) {
  ScatterElementsAttrs attrs;
  attrs.reduction = ScatterReduction::kAdd;
  const int64_t big = (int64_t{1} << 53) + 1;
  EXPECT_EQ(run_one(kScatterElements, {ints({0, 0}), ints({1, 1}), ints({big, 2})}, attrs).to_int64(),
            (std::vector<int64_t>{0, big + 2}));
}

TEST(TensorScatter, refuses_the_batch_axis) {
  TensorScatterAttrs attrs;
  attrs.axis = 0;
  const Tensor cache = Tensor::zeros(DType::kFloat32, {2, 3});
  EXPECT_FALSE(run_op(kTensorScatter, {cache, cache}, attrs).ok());
}

TEST(Range, refuses_a_delta_of_zero_and_endless_ranges) {
  EXPECT_FALSE(
      run_op(kRange, {Tensor::scalar<int64_t>(0), Tensor::scalar<int64_t>(1), Tensor::scalar<int64_t>(0)}).ok());
  EXPECT_FALSE(
      run_op(kRange, {Tensor::scalar<float>(0), Tensor::scalar<float>(INFINITY), Tensor::scalar<float>(1)}).ok());
}

}  // namespace
}  // namespace tutti::ops
