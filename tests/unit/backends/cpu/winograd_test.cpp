#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "unit/backends/cpu/kernel_check.h"

namespace tutti::cpu::test {
namespace {

using Ints = std::vector<int64_t>;

NodeCase conv3x3(ir::Tensor x, int64_t filters, const Ints& pads = {1, 1, 1, 1}) {
  const int64_t channels = x.dim(3);
  return {"tutti.FusedConv",
          {{"pads", pads}, {"layout", std::string("nhwc")}},
          {std::move(x), random_floats({filters, channels, 3, 3}, 2), random_floats({filters}, 3)},
          {1, 2}};
}

void expect_winograd(const NodeCase& node) {
  const std::vector<std::string> ran = check_node(node);
  EXPECT_TRUE(std::find(ran.begin(), ran.end(), "winograd.conv") != ran.end());
}

TEST(WinogradConv, convolves_maps_of_even_and_odd_sizes) {
  expect_winograd(conv3x3(random_floats({1, 14, 14, 32}), 48));
  expect_winograd(conv3x3(random_floats({2, 13, 15, 48}), 16));
  expect_winograd(conv3x3(random_floats({1, 16, 17, 32}), 32, {0, 0, 0, 0}));
  expect_winograd(conv3x3(random_floats({1, 12, 13, 32}), 32, {2, 0, 1, 3}));
  expect_winograd(conv3x3(random_floats({3, 14, 14, 176}), 176));
}

TEST(WinogradConv, adds_the_residual_before_or_after_the_activation) {
  for (bool first : {false, true})
    for (const char* activation : {"none", "relu", "silu"}) {
      NodeCase node = conv3x3(random_floats({1, 14, 14, 32}), 32);
      node.attrs.push_back({"activation", std::string(activation)});
      node.attrs.push_back({"residual_first", first});
      node.inputs.push_back(random_floats({1, 14, 14, 32}, 7));
      expect_winograd(node);
    }
}

TEST(WinogradConv, lets_an_infinite_pixel_reach_only_the_windows_that_hold_it) {
  for (float odd : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    NodeCase node = conv3x3(random_floats({2, 14, 15, 32}), 32);
    node.inputs[0].mutable_data<float>()[static_cast<size_t>((14 * 15 + 5 * 15 + 6) * 32 + 9)] = odd;
    expect_winograd(node);
  }
}

TEST(WinogradConv, gives_an_image_the_same_bits_in_any_batch) {
  const ir::Tensor batch = random_floats({5, 14, 14, 176});
  const ir::Tensor together = result_of(conv3x3(batch, 160), "winograd.conv");
  for (int64_t image = 0; image < 5; ++image) {
    ir::Tensor x = ir::Tensor::allocate(ir::DType::kFloat32, {1, 14, 14, 176});
    std::copy_n(batch.data<float>().data() + image * x.size(), x.size(), x.mutable_data<float>().data());
    const ir::Tensor alone = result_of(conv3x3(x, 160), "winograd.conv");
    EXPECT_EQ(std::memcmp(alone.data<float>().data(), together.data<float>().data() + image * alone.size(),
                          alone.size_bytes()),
              0)
        << "image " << image;
  }
}

}  // namespace
}  // namespace tutti::cpu::test
