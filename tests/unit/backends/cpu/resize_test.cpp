#include <gtest/gtest.h>

#include <cmath>

#include "unit/backends/cpu/kernel_check.h"

namespace tutti::cpu::test {
namespace {

using Attrs = std::vector<ir::AttrField>;
using Floats = std::vector<float>;

ir::Tensor floats(const Floats& values) {
  return ir::Tensor::from<float>({static_cast<int64_t>(values.size())}, std::span<const float>(values));
}

void by_scales(const Attrs& attrs, const ir::Tensor& x, const Floats& scales) {
  check_node({"Resize", attrs, {x, {}, floats(scales)}, {2}});
}
void by_sizes(const Attrs& attrs, const ir::Tensor& x, std::vector<int64_t> sizes) {
  check_node({"Resize", attrs, {x, {}, {}, ints(std::move(sizes))}, {3}});
}

const char* const kCoordinates[] = {"half_pixel",    "half_pixel_symmetric", "pytorch_half_pixel",
                                    "align_corners", "asymmetric",           "tf_half_pixel_for_nn"};

TEST(Resize, interpolates_planes_in_every_coordinate_mode) {
  const ir::Tensor x = random_floats({2, 3, 13, 21});
  for (const char* mode : {"linear", "cubic"})
    for (const char* coordinates : kCoordinates) {
      const Attrs attrs{{"mode", std::string(mode)}, {"coordinate_transformation_mode", std::string(coordinates)}};
      by_scales(attrs, x, {1, 1, 2, 2});
      by_scales(attrs, x, {1, 1, 0.6f, 1.7f});
      by_sizes(attrs, x, {2, 3, 30, 1});
    }
}

TEST(Resize, interpolates_images_with_channels_last) {
  for (const char* mode : {"linear", "cubic"}) {
    by_scales({{"mode", std::string(mode)}}, random_floats({2, 9, 7, 19}), {1, 2.5f, 1.5f, 1});
    by_scales({{"mode", std::string(mode)}}, random_floats({1, 9, 7, 3}), {1, 2, 2, 1});
  }
}

TEST(Resize, interpolates_one_three_and_distant_axes) {
  by_scales({{"mode", std::string("linear")}}, random_floats({3, 50}), {1, 1.3f});
  by_scales({{"mode", std::string("linear")}}, random_floats({50, 3}), {1.3f, 1});
  by_scales({{"mode", std::string("linear")}}, random_floats({2, 5, 6, 7}), {1, 1.5f, 2, 0.5f});
  by_scales({{"mode", std::string("cubic")}}, random_floats({4, 5, 6, 7}), {2, 1, 1.5f, 2});
  by_scales({{"mode", std::string("linear")}}, random_floats({1, 1, 2, 5000}), {1, 1, 2, 2});
}

TEST(Resize, filters_when_it_shrinks_and_may_leave_the_outside_out) {
  const ir::Tensor x = random_floats({1, 2, 37, 41});
  for (const char* mode : {"linear", "cubic"})
    for (bool exclude : {false, true}) {
      by_scales({{"mode", std::string(mode)}, {"antialias", true}, {"exclude_outside", exclude}}, x,
                {1, 1, 0.3f, 0.2f});
      by_scales({{"mode", std::string(mode)}, {"exclude_outside", exclude}}, x, {1, 1, 1.4f, 0.8f});
    }
}

TEST(Resize, crops_and_extrapolates) {
  for (const char* mode : {"nearest", "linear", "cubic"})
    check_node({"Resize",
                {{"mode", std::string(mode)},
                 {"coordinate_transformation_mode", std::string("tf_crop_and_resize")},
                 {"extrapolation_value", 7.5f}},
                {random_floats({1, 2, 10, 12}), floats({0, 0, 0.4f, -0.3f, 1, 1, 1.2f, 0.9f}), {}, ints({1, 2, 9, 15})},
                {1, 3}});
}

TEST(Resize, picks_nearest_elements_of_any_type) {
  for (const char* rounding : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})
    for (const char* coordinates : kCoordinates) {
      const Attrs attrs{{"nearest_mode", std::string(rounding)},
                        {"coordinate_transformation_mode", std::string(coordinates)}};
      by_scales(attrs, random_floats({2, 3, 7, 9}), {1, 1, 2, 2});
      by_scales(attrs, random_floats({2, 7, 9, 5}), {1, 0.6f, 2.2f, 1});
    }
  for (ir::DType type : {ir::DType::kUInt8, ir::DType::kInt16, ir::DType::kInt64})
    by_scales({}, random_ints(type, {3, 8, 8}, 0, 100), {2, 0.5f, 3});
  by_scales({}, random_ints(ir::DType::kUInt8, {3, 8, 8, 3}, 0, 100), {1, 2, 2, 1});
}

TEST(Resize, keeps_infinities_apart_from_their_neighbours) {
  ir::Tensor x = random_floats({1, 1, 4, 4});
  x.mutable_data<float>()[5] = INFINITY;
  by_scales({{"mode", std::string("linear")}, {"coordinate_transformation_mode", std::string("align_corners")}}, x,
            {1, 1, 1, 1.75f});
}

}  // namespace
}  // namespace tutti::cpu::test
