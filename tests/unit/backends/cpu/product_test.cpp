#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>

#include "ops/fused.h"
#include "ops/op_list.h"
#include "unit/backends/cpu/kernel_check.h"

namespace tutti::cpu::test {
namespace {

using Ints = std::vector<int64_t>;

TEST(PackedMatMul, multiplies_matrices_of_odd_sizes_with_constant_and_run_time_weights) {
  for (const auto& [m, k, n] : std::vector<std::tuple<int64_t, int64_t, int64_t>>{{1, 1, 1},
                                                                                  {7, 5, 3},
                                                                                  {1, 300, 17},
                                                                                  {13, 257, 40},
                                                                                  {100, 513, 33},
                                                                                  {250, 64, 100},
                                                                                  {1030, 16, 8},
                                                                                  {3, 0, 4},
                                                                                  {0, 4, 4}}) {
    for (const std::vector<size_t>& constants : {std::vector<size_t>{}, std::vector<size_t>{1}})
      check_node({"MatMul", {}, {random_floats({m, k}, 1), random_floats({k, n}, 2)}, constants});
  }
}

TEST(PackedMatMul, broadcasts_batches_and_takes_vectors) {
  check_node({"MatMul", {}, {random_floats({2, 3, 9, 8}), random_floats({2, 3, 8, 21})}});
  check_node({"MatMul", {}, {random_floats({2, 1, 9, 8}), random_floats({3, 8, 21})}});
  check_node({"MatMul", {}, {random_floats({2, 3, 9, 8}), random_floats({8, 21})}, {1}});
  check_node({"MatMul", {}, {random_floats({9, 8}), random_floats({4, 8, 21})}, {1}});
  check_node({"MatMul", {}, {random_floats({8}), random_floats({8, 5})}});
  check_node({"MatMul", {}, {random_floats({4, 6, 8}), random_floats({8})}});
  check_node({"MatMul", {}, {random_floats({8}), random_floats({8})}});
  check_node({"MatMul", {}, {random_floats({12, 128, 64}), random_floats({12, 64, 128})}});
}

TEST(PackedMatMul, gemm_transposes_scales_and_adds) {
  for (bool ta : {false, true})
    for (bool tb : {false, true})
      for (const ir::Tensor& c : {ir::Tensor(), random_floats({19}), random_floats({23, 19})})
        check_node({"Gemm",
                    {{"transA", ta}, {"transB", tb}, {"alpha", 0.5f}},
                    {random_floats(ta ? ir::Dims{31, 23} : ir::Dims{23, 31}),
                     random_floats(tb ? ir::Dims{19, 31} : ir::Dims{31, 19}), c}});
}

TEST(PackedMatMul, linear_applies_every_activation_before_or_after_the_residual) {
  for (std::string_view name : ops::kActivationNames)
    for (bool first : {false, true})
      check_node({"tutti.Linear",
                  {{"activation", std::string(name)},
                   {"alpha", name == "clip" ? -0.5f : 0.3f},
                   {"beta", 0.7f},
                   {"residual_first", first}},
                  {random_floats({2, 9, 20}), random_floats({20, 27}), random_floats({27}), random_floats({2, 9, 27})},
                  {1, 2}});
  check_node({"tutti.Linear",
              {{"transpose_weight", true}, {"scale", 0.125f}},
              {random_floats({130, 300}), random_floats({50, 300})},
              {1}});
}

struct ConvForm {
  ir::Dims x, w;
  Ints strides, pads, dilations;
  int64_t group = 1;
};

ir::Tensor channels_last(const ir::Tensor& x) {
  ir::Dims dims{x.dim(0)};
  for (int64_t i = 2; i < x.rank(); ++i) dims.push_back(x.dim(i));
  dims.push_back(x.dim(1));
  return random_floats(dims, 5);
}

// Conv, then FusedConv in both layouts.
void check_conv(const ConvForm& f) {
  const std::vector<ir::AttrField> window{
      {"strides", f.strides}, {"pads", f.pads}, {"dilations", f.dilations}, {"group", f.group}};
  const ir::Tensor x = random_floats(f.x, 3), w = random_floats(f.w, 4), b = random_floats({f.w[0]}, 6);
  check_node({"Conv", window, {x, w, b}, {1, 2}});
  for (const char* activation : {"none", "relu", "hardswish", "silu"}) {
    std::vector<ir::AttrField> attrs = window;
    attrs.push_back({"activation", std::string(activation)});
    check_node({"tutti.FusedConv", attrs, {x, w, b}, {1, 2}});
    attrs.push_back({"layout", std::string("nhwc")});
    check_node({"tutti.FusedConv", attrs, {channels_last(x), w, b}, {1, 2}});
  }
}

TEST(PackedConv, convolves_in_both_layouts) {
  check_conv({{1, 3, 17, 19}, {20, 3, 7, 7}, {2, 2}, {3, 3, 3, 3}, {1, 1}});
  check_conv({{2, 32, 9, 11}, {17, 32, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}});
  check_conv({{1, 32, 9, 11}, {24, 32, 3, 3}, {2, 1}, {0, 2, 1, 0}, {2, 1}});
  check_conv({{2, 24, 6, 5}, {40, 24, 1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}});
  check_conv({{1, 24, 8, 8}, {40, 24, 1, 1}, {2, 2}, {0, 0, 0, 0}, {1, 1}});
  check_conv({{1, 32, 8, 8}, {24, 8, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 4});
  check_conv({{2, 20, 50}, {30, 20, 3}, {1}, {1, 1}, {1}});
  check_conv({{1, 80, 51}, {30, 80, 3}, {2}, {1, 1}, {1}});
  check_conv({{2, 130, 5, 6}, {33, 130, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}});
  check_conv({{1, 16, 3, 4}, {20, 16, 1, 1}, {1, 1}, {1, 0, 0, 2}, {1, 1}});
  check_conv({{3, 800, 1, 1}, {70, 800, 1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}});
}

TEST(PackedConv, gives_the_bias_where_there_are_no_channels) {
  check_conv({{1, 0, 4, 4}, {3, 0, 3, 3}, {1, 1}, {0, 0, 0, 0}, {1, 1}});
}

TEST(PackedConv, reads_the_lines_of_windows_over_few_channels) {
  check_conv({{2, 3, 30, 29}, {16, 3, 3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}});
  check_conv({{1, 3, 8, 9}, {16, 3, 3, 3}, {1, 2}, {0, 2, 1, 0}, {1, 2}});
  check_conv({{1, 5, 3, 2}, {9, 5, 3, 5}, {1, 1}, {1, 2, 1, 2}, {1, 1}});
  check_conv({{1, 24, 8, 7}, {24, 6, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 4});
  check_conv({{1, 2, 40}, {8, 2, 9}, {3}, {4, 4}, {1}});
  check_conv({{2, 4, 40, 51}, {8, 4, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}});
}

TEST(DepthwiseConv, convolves_in_both_layouts) {
  check_conv({{2, 20, 9, 13}, {20, 1, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 20});
  check_conv({{1, 150, 9, 30}, {150, 1, 5, 5}, {2, 2}, {2, 2, 2, 2}, {1, 1}, 150});
  check_conv({{1, 8, 15, 15}, {8, 1, 3, 3}, {1, 1}, {2, 2, 2, 2}, {2, 2}, 8});
  check_conv({{1, 9, 31}, {9, 1, 3}, {1}, {1, 1}, {1}, 9});
  check_conv({{2, 61, 7, 7}, {61, 1, 5, 5}, {1, 1}, {2, 2, 2, 2}, {1, 1}, 61});
  check_conv({{1, 40, 3, 2}, {40, 1, 3, 5}, {1, 1}, {1, 2, 1, 2}, {1, 1}, 40});
  check_conv({{1, 24, 6, 10}, {24, 1, 3, 3}, {2, 2}, {0, 0, 1, 1}, {1, 1}, 24});
  check_conv({{1, 16, 5, 4}, {16, 1, 3, 3}, {1, 1}, {4, 4, 4, 4}, {3, 3}, 16});
  check_conv({{2, 20, 30, 50}, {20, 1, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 20});
  check_conv({{1, 33, 4, 60}, {33, 1, 1, 3}, {1, 3}, {0, 0, 0, 0}, {1, 5}, 33});
}

TEST(PackedConv, adds_the_residual_before_or_after_the_activation) {
  for (const char* layout : {"nchw", "nhwc"})
    for (bool first : {false, true})
      for (const char* activation : {"none", "relu", "sigmoid"})
        for (int64_t group : {1, 32})
          check_node({"tutti.FusedConv",
                      {{"activation", std::string(activation)},
                       {"residual_first", first},
                       {"layout", std::string(layout)},
                       {"group", group},
                       {"pads", Ints{1, 1, 1, 1}}},
                      {random_floats({1, 32, 32, 32}), random_floats({32, 32 / group, 3, 3}), random_floats({32}),
                       random_floats({1, 32, 32, 32}, 9)},
                      {1, 2}});
}

TEST(OneDnnConv, takes_volumes_and_narrow_groups) {
  check_conv({{2, 4, 5, 6, 7}, {6, 4, 3, 3, 3}, {1, 1, 1}, {1, 1, 1, 1, 1, 1}, {1, 1, 1}});
  check_conv({{2, 8, 9, 9}, {8, 4, 3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}, 2});
  check_conv({{1, 6, 9, 9}, {12, 1, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 6});
}

int64_t threads_of_this_process() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
}

TEST(OneDnnConv, leaves_no_threads_of_openmp_behind) {
  const int64_t before = threads_of_this_process();
  check_conv({{2, 8, 64, 64}, {8, 4, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 2});
  EXPECT_EQ(threads_of_this_process(), before);
}

TEST(OneDnnDeconv, transposes_convolutions) {
  if (ops::find_op("ConvTranspose") == nullptr) GTEST_SKIP() << "this build has no ConvTranspose";
  for (int64_t group : {1, 2})
    for (int64_t stride : {1, 2, 3})
      check_node({"ConvTranspose",
                  {{"strides", Ints{stride, stride}}, {"pads", Ints{1, 0, 1, 1}}, {"group", group}},
                  {random_floats({2, 6, 7, 5}), random_floats({6, 4, 3, 4}), random_floats({4 * group})},
                  {1, 2}});
  check_node(
      {"ConvTranspose", {{"strides", Ints{2, 2}}}, {random_floats({1, 16, 8, 8}), random_floats({16, 8, 2, 2})}, {1}});
}

}  // namespace
}  // namespace tutti::cpu::test
