#include <gtest/gtest.h>

#include <cmath>

#include "ir/infer.h"
#include "ops/interpreter.h"
#include "ops/matmul.h"
#include "ops/norm.h"
#include "ops/norm_layer.h"
#include "ops/pool.h"
#include "ops/softmax.h"

namespace tutti::ops {
namespace {

using namespace ir;

Result<Tensor> run(const OpDef& op, Attrs attrs, std::vector<Datum> inputs) {
  auto results = TUTTI_TRY(evaluate({.op = op, .attrs = attrs, .inputs = inputs}));
  return results[0].tensor();
}

std::string error_of(const Result<Tensor>& result) { return result.ok() ? "no error" : result.error().text(); }

Result<Shape> infer(const OpDef& op, Attrs attrs, std::vector<Shape> shapes) {
  Graph graph;
  NodeSpec spec{.op = &op, .attrs = std::move(attrs), .output_names = {"y"}};
  for (Shape& shape : shapes)
    spec.inputs.push_back(
        graph.add_input(graph.unique_name("x"), ValueType::tensor(DType::kFloat32, std::move(shape))));
  const NodeId node = graph.add_node(std::move(spec));
  TUTTI_TRY(infer_node(graph, node));
  return *graph.value(graph.node(node).outputs[0]).type.shape;
}

std::string infer_error(const OpDef& op, Attrs attrs, std::vector<Shape> shapes) {
  const auto shape = infer(op, std::move(attrs), std::move(shapes));
  return shape.ok() ? "accepted " + shape_text(*shape) : shape.error().text();
}

TEST(MaxPool, leaves_out_a_last_window_that_starts_in_the_padding) {
  MaxPoolAttrs attrs;
  attrs.kernel_shape = {3};
  attrs.strides = {3};
  attrs.pads = {1, 1};
  attrs.ceil_mode = true;
  for (int64_t extent = 1; extent < 12; ++extent) {
    const auto shape = infer(kMaxPool, Attrs(attrs), {{1, 1, Dim::symbol("n")}});
    ASSERT_TRUE(shape.ok()) << shape.error().text();
    const auto y = run(kMaxPool, Attrs(attrs), {Tensor::zeros(DType::kFloat32, {1, 1, extent})});
    ASSERT_TRUE(y.ok()) << error_of(y);
    EXPECT_EQ(evaluate(*shape, {{"n", extent}}), y->dims()) << extent;
    for (const float v : y->to_float())
      EXPECT_EQ(v, 0) << extent;  // a window of padding only would give minus infinity
  }
}

TEST(MaxPool, keeps_a_nan) {
  MaxPoolAttrs attrs;
  attrs.kernel_shape = {2};
  const auto y = run(kMaxPool, Attrs(attrs), {Tensor::from<float>({1, 1, 3}, {1, NAN, 2})});
  ASSERT_TRUE(y.ok()) << error_of(y);
  EXPECT_TRUE(std::isnan(y->to_float()[0]) && std::isnan(y->to_float()[1]));
}

TEST(AveragePool, counts_padding_only_when_asked) {
  AveragePoolAttrs attrs;
  attrs.kernel_shape = {2};
  attrs.pads = {1, 0};
  const Tensor x = Tensor::from<float>({1, 1, 2}, {4, 6});
  EXPECT_EQ(run(kAveragePool, Attrs(attrs), {x})->to_float(), (std::vector<float>{4, 5}));
  attrs.count_include_pad = true;
  EXPECT_EQ(run(kAveragePool, Attrs(attrs), {x})->to_float(), (std::vector<float>{2, 5}));
}

TEST(Pool, names_what_is_wrong_with_its_window) {
  AveragePoolAttrs attrs;
  EXPECT_NE(infer_error(kAveragePool, Attrs(attrs), {{1, 1, 4}}).find("attribute kernel_shape is empty"),
            std::string::npos);
  attrs.kernel_shape = {9};
  const std::string text = infer_error(kAveragePool, Attrs(attrs), {{1, 1, 4}});
  EXPECT_NE(text.find("a window of extent 9 (kernel 9, dilation 1) does not fit an input of extent 4 padded to 4"),
            std::string::npos)
      << text;
}

TEST(Softmax, sums_to_one_along_its_axis_whatever_the_magnitude) {
  SoftmaxAttrs attrs;
  attrs.axis = 0;
  const auto y = run(kSoftmax, Attrs(attrs), {Tensor::from<float>({2, 2}, {1000, -1000, 1000, -1001})});
  ASSERT_TRUE(y.ok()) << error_of(y);
  EXPECT_NEAR(y->to_float()[0] + y->to_float()[2], 1, 1e-6);
  EXPECT_NEAR(y->to_float()[1], 1 / (1 + std::exp(-1.0)), 1e-6);
}

TEST(Softmax, refuses_an_axis_outside_the_rank) {
  SoftmaxAttrs attrs;
  attrs.axis = 2;
  EXPECT_NE(infer_error(kSoftmax, Attrs(attrs), {{2, 2}}).find("attribute axis"), std::string::npos);
}

TEST(LayerNormalization, is_blind_to_shifts_and_factors_of_its_input) {
  const Tensor scale = Tensor::from<float>({3}, {1, 1, 1});
  const auto a =
      run(kLayerNormalization, Attrs(LayerNormalizationAttrs{}), {Tensor::from<float>({1, 3}, {10, 20, 60}), scale});
  const auto b =
      run(kLayerNormalization, Attrs(LayerNormalizationAttrs{}), {Tensor::from<float>({1, 3}, {25, 45, 125}), scale});
  ASSERT_TRUE(a.ok() && b.ok()) << error_of(a) << error_of(b);
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(a->to_float()[i], b->to_float()[i], 1e-5);
}

TEST(LayerNormalization, names_a_scale_that_does_not_broadcast) {
  const std::string text = infer_error(kLayerNormalization, Attrs(LayerNormalizationAttrs{}), {{2, 3}, {4}});
  EXPECT_NE(text.find("scale has shape [4], expected one that broadcasts to X [2,3]"), std::string::npos) << text;
}

TEST(SkipLayerNormalization, equals_an_addition_and_layer_normalization) {
  const Tensor scale = Tensor::from<float>({2}, {2, 3}), beta = Tensor::from<float>({2}, {1, -1});
  SkipLayerNormalizationAttrs skip;
  skip.epsilon = 1e-5f;
  const auto a = run(kSkipLayerNormalization, Attrs(skip),
                     {Tensor::from<float>({1, 1, 2}, {1, 2}), Tensor::from<float>({1, 1, 2}, {3, -5}), scale, beta});
  const auto b = run(kLayerNormalization, Attrs(LayerNormalizationAttrs{}),
                     {Tensor::from<float>({1, 1, 2}, {4, -3}), scale, beta});
  ASSERT_TRUE(a.ok() && b.ok()) << error_of(a) << error_of(b);
  EXPECT_EQ(a->to_float(), b->to_float());
}

TEST(GroupNormalization, with_a_group_per_channel_is_instance_normalization) {
  const Tensor x = Tensor::from<float>({1, 2, 3}, {1, 2, 4, -3, 0, 9}), scale = Tensor::from<float>({2}, {1, 2}),
               bias = Tensor::from<float>({2}, {0, 1});
  GroupNormalizationAttrs group;
  group.num_groups = 2;
  const auto a = run(kGroupNormalization, Attrs(group), {x, scale, bias});
  const auto b = run(kInstanceNormalization, Attrs(InstanceNormalizationAttrs{}), {x, scale, bias});
  ASSERT_TRUE(a.ok() && b.ok()) << error_of(a) << error_of(b);
  EXPECT_EQ(a->to_float(), b->to_float());
  group.num_groups = 3;
  EXPECT_NE(infer_error(kGroupNormalization, Attrs(group), {{1, 2, 3}, {2}, {2}})
                .find("X has 2 channels, expected a multiple of 3 groups"),
            std::string::npos);
}

TEST(MatMul, broadcasts_batches_and_takes_vectors) {
  EXPECT_EQ(shape_text(*infer(kMatMul, {}, {{7, 1, 2, 3}, {4, 3, 5}})), "[7,4,2,5]");
  EXPECT_EQ(shape_text(*infer(kMatMul, {}, {{3}, {4, 3, 5}})), "[4,5]");
  const std::string text = infer_error(kMatMul, {}, {{2, 3}, {4, 5}});
  EXPECT_NE(text.find("A has 3 columns and B has 4 rows, expected equal numbers"), std::string::npos) << text;
}

TEST(MatMul, wraps_integers_around) {
  const auto y =
      run(kMatMul, {}, {Tensor::from<int32_t>({1, 2}, {INT32_MAX, 1}), Tensor::from<int32_t>({2, 1}, {1, 1})});
  ASSERT_TRUE(y.ok()) << error_of(y);
  EXPECT_EQ(y->get_int(0), INT32_MIN);
}

TEST(Gemm, transposes_scales_and_adds_a_broadcast_bias) {
  GemmAttrs attrs;
  attrs.transA = attrs.transB = true;
  attrs.alpha = 2;
  attrs.beta = 10;
  const Tensor a = Tensor::from<float>({2, 1}, {1, 2}), b = Tensor::from<float>({2, 2}, {3, 4, 5, 6});
  const auto y = run(kGemm, Attrs(attrs), {a, b, Tensor::from<float>({1}, {1})});
  ASSERT_TRUE(y.ok()) << error_of(y);
  EXPECT_EQ(y->to_float(), (std::vector<float>{32, 44}));
}

TEST(FusedMatMul, equals_matmul_of_the_transposed_operand) {
  FusedMatMulAttrs attrs;
  attrs.transB = true;
  attrs.alpha = 0.5f;
  const Tensor a = Tensor::from<float>({1, 2}, {2, 4}), b = Tensor::from<float>({1, 2}, {3, 5});
  const auto y = run(kFusedMatMul, Attrs(attrs), {a, b});
  ASSERT_TRUE(y.ok()) << error_of(y);
  EXPECT_EQ(y->to_float(), (std::vector<float>{13}));
}

}  // namespace
}  // namespace tutti::ops
