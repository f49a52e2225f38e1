#include <gtest/gtest.h>

#include <random>

#include "ir/infer.h"
#include "ops/conv.h"
#include "ops/interpreter.h"
#include "ops/reference_gemm.h"

namespace tutti::ops {
namespace {

using namespace ir;

Tensor random_tensor(Dims dims, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> distribution(-1, 1);
  Tensor tensor = Tensor::allocate(DType::kFloat32, std::move(dims));
  for (float& v : tensor.mutable_data<float>()) v = distribution(generator);
  return tensor;
}

TEST(ReferenceGemm, agrees_with_the_plain_loop_at_odd_sizes) {
  for (const auto& [m, n, k] :
       {std::tuple<int64_t, int64_t, int64_t>{1, 1, 1}, {5, 17, 3}, {6, 16, 256}, {97, 33, 300}, {7, 1030, 2}}) {
    const Tensor a = random_tensor({m, k}, 1), b = random_tensor({n, k}, 2);
    std::vector<float> c(static_cast<size_t>(m * n), 1.0f);
    reference_gemm({m, n, k}, {a.data<float>().data(), k, 1}, {b.data<float>().data(), 1, k}, {c.data(), n, true});
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double sum = 1;
        for (int64_t p = 0; p < k; ++p) sum += a.get_double(i * k + p) * b.get_double(j * k + p);
        ASSERT_NEAR(c[static_cast<size_t>(i * n + j)], sum, 1e-4)
            << m << "x" << n << "x" << k << " at " << i << "," << j;
      }
  }
}

TEST(ReferenceGemm, clears_the_result_when_the_depth_is_zero) {
  float c[2] = {3, 4};
  reference_gemm({1, 2, 0}, {c, 0, 1}, {c, 2, 1}, {c, 2, false});
  EXPECT_EQ(c[0], 0);
  EXPECT_EQ(c[1], 0);
}

// The definition of a 2-D convolution, one output at a time.
double naive_at(const Tensor& x, const Tensor& w, const ConvAttrs& a, const Dims& at) {
  const int64_t group_filters = w.dim(0) / a.group, first = at[1] / group_filters * w.dim(1);
  double sum = 0;
  for (int64_t c = 0; c < w.dim(1); ++c)
    for (int64_t i = 0; i < w.dim(2); ++i)
      for (int64_t j = 0; j < w.dim(3); ++j) {
        const int64_t y = at[2] * a.strides[0] - a.pads[0] + i * a.dilations[0],
                      z = at[3] * a.strides[1] - a.pads[1] + j * a.dilations[1];
        if (y < 0 || z < 0 || y >= x.dim(2) || z >= x.dim(3)) continue;
        sum += x.get_double(((at[0] * x.dim(1) + first + c) * x.dim(2) + y) * x.dim(3) + z) *
               w.get_double(((at[1] * w.dim(1) + c) * w.dim(2) + i) * w.dim(3) + j);
      }
  return sum;
}

TEST(Conv, equals_its_definition_for_random_attributes) {
  std::mt19937 generator(7);
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(generator);
  };
  for (int round = 0; round < 30; ++round) {
    ConvAttrs a;
    a.group = pick(1, 3);
    a.strides = {pick(1, 3), pick(1, 3)};
    a.dilations = {pick(1, 2), pick(1, 2)};
    a.pads = {pick(0, 2), pick(0, 2), pick(0, 2), pick(0, 2)};
    const Tensor x = random_tensor({2, 2 * a.group, pick(7, 11), pick(7, 11)}, static_cast<uint32_t>(round));
    const Tensor w = random_tensor({3 * a.group, 2, pick(1, 3), pick(1, 3)}, static_cast<uint32_t>(round) + 100);
    const Datum inputs[] = {x, w};
    const auto results = evaluate({.op = kConv, .attrs = Attrs(a), .inputs = inputs});
    ASSERT_TRUE(results.ok()) << results.error().text();
    const Tensor& y = results.value()[0].tensor();
    for (int64_t i = 0; i < y.size(); ++i) {
      const Dims at{i / (y.dim(1) * y.dim(2) * y.dim(3)), i / (y.dim(2) * y.dim(3)) % y.dim(1), i / y.dim(3) % y.dim(2),
                    i % y.dim(3)};
      ASSERT_NEAR(y.get_double(i), naive_at(x, w, a, at), 1e-4) << "round " << round << " at " << dims_text(at);
    }
  }
}

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

TEST(Conv, gives_its_output_shape_as_an_expression_of_the_input) {
  ConvAttrs a;
  a.strides = {2, 2};
  a.pads = {1, 1, 1, 1};
  const auto shape = infer(kConv, a, {{Dim::symbol("n"), 3, Dim::symbol("h"), 224}, {64, 3, 3, 3}});
  ASSERT_TRUE(shape.ok()) << shape.error().text();
  const auto dims = evaluate(*shape, {{"n", 5}, {"h", 9}});
  EXPECT_EQ(dims, (Dims{5, 64, 5, 112}));
}

TEST(Conv, names_what_it_found_when_channels_do_not_fit) {
  const auto shape = infer(kConv, ConvAttrs{}, {{1, 4, 8, 8}, {8, 3, 3, 3}});
  ASSERT_FALSE(shape.ok());
  EXPECT_NE(shape.error().text().find("the number of W's input channels times group is 3, expected 4"),
            std::string::npos)
      << shape.error().text();
}

TEST(Conv, refuses_absurd_attributes) {
  const auto error_of = [](ConvAttrs a) {
    const auto shape = infer(kConv, a, {{1, 3, 8, 8}, {8, 3, 3, 3}});
    return shape.ok() ? std::string("accepted ") + shape_text(*shape) : shape.error().text();
  };
  ConvAttrs a;
  a.strides = {0, 1};
  EXPECT_NE(error_of(a).find("attribute strides has the value 0, expected 1 to"), std::string::npos) << error_of(a);
  a = {};
  a.pads = {-1, 0, 0, 0};
  EXPECT_NE(error_of(a).find("attribute pads has the value -1"), std::string::npos) << error_of(a);
  a = {};
  a.dilations = {1000000, 1};
  EXPECT_NE(error_of(a).find("does not fit"), std::string::npos) << error_of(a);
  a = {};
  a.group = 0;
  EXPECT_NE(error_of(a).find("attribute group is 0"), std::string::npos) << error_of(a);
}

TEST(ConvTranspose, is_the_transposed_map_of_conv) {
  // <conv(x), y> == <x, conv_transpose(y)> for all x and y.
  ConvAttrs a;
  a.strides = {2, 1};
  a.pads = {1, 0, 1, 1};
  a.group = 2;
  ConvTransposeAttrs t;
  t.strides = a.strides;
  t.pads = a.pads;
  t.group = 2;
  const Tensor x = random_tensor({1, 4, 7, 6}, 1), w = random_tensor({6, 2, 3, 2}, 2);
  const Datum conv_inputs[] = {x, w};
  const auto conv = evaluate({.op = kConv, .attrs = Attrs(a), .inputs = conv_inputs});
  ASSERT_TRUE(conv.ok()) << conv.error().text();
  const Tensor& cx = conv.value()[0].tensor();
  const Tensor y = random_tensor(cx.dims(), 3);
  const Datum transpose_inputs[] = {y, w};
  const auto transposed = evaluate({.op = kConvTranspose, .attrs = Attrs(t), .inputs = transpose_inputs});
  ASSERT_TRUE(transposed.ok()) << transposed.error().text();
  const Tensor& ty = transposed.value()[0].tensor();
  ASSERT_EQ(ty.dims(), x.dims());
  double left = 0, right = 0;
  for (int64_t i = 0; i < y.size(); ++i) left += cx.get_double(i) * y.get_double(i);
  for (int64_t i = 0; i < x.size(); ++i) right += ty.get_double(i) * x.get_double(i);
  EXPECT_NEAR(left, right, 1e-3);
}

}  // namespace
}  // namespace tutti::ops
