#include <gtest/gtest.h>

#include "unit/backends/cpu/kernel_check.h"

namespace tutti::cpu::test {
namespace {

using ir::DType;
using ir::Tensor;

const DType kWidths[] = {DType::kUInt8, DType::kInt16, DType::kInt32, DType::kInt64, DType::kBool};

TEST(GatherNd, picks_elements_and_slices_with_batches) {
  const Tensor x = random_floats({3, 7, 5});
  check_node({"GatherND", {}, {x, random_ints(DType::kInt64, {11, 3}, -3, 2)}});
  check_node({"GatherND", {}, {x, random_ints(DType::kInt64, {2, 9, 2}, -3, 2)}});
  check_node({"GatherND", {{"batch_dims", int64_t{1}}}, {x, random_ints(DType::kInt64, {3, 4, 1}, -7, 6)}});
  check_node({"GatherND", {{"batch_dims", int64_t{1}}}, {x, random_ints(DType::kInt64, {3, 2}, -5, 4)}});
  check_node({"GatherND", {}, {x, random_ints(DType::kInt64, {0, 2}, 0, 0)}});
  for (DType type : kWidths)
    check_node({"GatherND", {}, {random_ints(type, {40, 30}, 0, 1), random_ints(DType::kInt64, {9000, 2}, -30, 29)}});
}

TEST(GatherElements, picks_along_every_axis) {
  for (int64_t axis : {0, 1, -1})
    for (DType index : {DType::kInt32, DType::kInt64})
      check_node(
          {"GatherElements", {{"axis", axis}}, {random_floats({5, 6, 7}), random_ints(index, {5, 4, 6}, -5, 4)}});
  for (DType type : kWidths)
    check_node({"GatherElements",
                {{"axis", int64_t{1}}},
                {random_ints(type, {50, 60}, 0, 1), random_ints(DType::kInt64, {50, 200}, -60, 59)}});
}

TEST(Scatter, writes_slices_and_elements_in_order) {
  const Tensor x = random_floats({6, 5, 4});
  check_node({"ScatterND", {}, {x, random_ints(DType::kInt64, {9, 1}, -6, 5), random_floats({9, 5, 4}, 2)}});
  check_node({"ScatterND", {}, {x, random_ints(DType::kInt64, {3, 7, 3}, -4, 3), random_floats({3, 7}, 2)}});
  check_node({"ScatterND", {}, {x, random_ints(DType::kInt64, {0, 1}, 0, 0), random_floats({0, 5, 4}, 2)}});
  for (int64_t axis : {0, 1, -1})
    check_node({"ScatterElements",
                {{"axis", axis}},
                {x, random_ints(DType::kInt32, {5, 3, 2}, -4, 3), random_floats({5, 3, 2}, 2)}});
  for (DType type : kWidths)
    check_node({"ScatterElements",
                {},
                {random_ints(type, {70, 3}, 0, 1), random_ints(DType::kInt64, {200, 3}, -70, 69),
                 random_ints(type, {200, 3}, 0, 1, 2)}});
}

TEST(Scatter, reduces_floats_and_integers) {
  for (const char* how : {"add", "mul", "min", "max"})
    for (DType type : {DType::kInt32, DType::kInt64, DType::kFloat32}) {
      const bool whole = type != DType::kFloat32;
      const Tensor x = whole ? random_ints(type, {7, 9}, -9, 9) : random_floats({7, 9});
      const Tensor updates = whole ? random_ints(type, {20, 9}, -9, 9, 2) : random_floats({20, 9}, 2);
      check_node(
          {"ScatterND", {{"reduction", std::string(how)}}, {x, random_ints(DType::kInt64, {20, 1}, -7, 6), updates}});
      check_node({"ScatterElements",
                  {{"reduction", std::string(how)}},
                  {x, random_ints(DType::kInt64, {20, 9}, -7, 6), updates}});
    }
}

TEST(Pad, pads_and_crops_in_every_mode) {
  for (const char* mode : {"constant", "reflect", "edge", "wrap"}) {
    const std::vector<ir::AttrField> attrs{{"mode", std::string(mode)}};
    check_node({"Pad", attrs, {random_floats({3, 5, 6}), ints({1, 2, 3, 0, 1, 4})}, {1}});
    check_node({"Pad", attrs, {random_floats({2, 9, 8, 3}), ints({0, 1, 2, 0, 0, 3, 1, 0})}, {1}});
    check_node({"Pad", attrs, {random_floats({4, 8}), ints({-1, 2, 2, -3})}, {1}});
    check_node({"Pad", attrs, {random_floats({4, 8}), ints({0, 0, 0, 0})}, {1}});
    check_node({"Pad", attrs, {random_floats({4, 6, 8}), ints({3, 2}), {}, ints({-2})}, {1, 3}});
    for (DType type : kWidths) check_node({"Pad", attrs, {random_ints(type, {30, 40}, 0, 1), ints({1, 7, 8, 9})}, {1}});
  }
  check_node({"Pad", {}, {random_floats({4, 8}), ints({2, 1, 0, 3}), Tensor::scalar(2.5f)}, {1}});
  check_node({"Pad", {}, {random_floats({0, 2}), ints({2, 1, 0, 3})}, {1}});
  check_node({"Pad", {}, {random_floats({200, 300}), ints({1, 1, 1, 1})}, {1}});
}

TEST(Fill, makes_constants_ranges_and_one_hot_vectors) {
  check_node({"ConstantOfShape", {}, {ints({3, 70, 5})}, {0}});
  check_node({"ConstantOfShape", {}, {ints({})}, {0}});
  check_node({"ConstantOfShape", {}, {ints({300, 400}), Tensor::from<int64_t>({1}, {-7})}, {0}});
  check_node({"ConstantOfShape", {}, {ints({9}), random_ints(DType::kBool, {1}, 1, 1)}, {0}});
  check_node({"Range", {}, {Tensor::scalar(int64_t{3}), Tensor::scalar(int64_t{-20}), Tensor::scalar(int64_t{-4})}});
  check_node({"Range", {}, {Tensor::scalar(0.5f), Tensor::scalar(9.0f), Tensor::scalar(0.3f)}});
  for (int64_t axis : {0, 1, -1})
    check_node(
        {"OneHot",
         {{"axis", axis}},
         {random_ints(DType::kInt64, {4, 9}, -8, 8), Tensor::scalar(int64_t{6}), Tensor::from<float>({2}, {-1, 3})},
         {1}});
  check_node({"EyeLike", {{"k", int64_t{-2}}}, {random_floats({5, 7})}});
}

TEST(Trilu, keeps_either_side_of_any_diagonal) {
  for (bool upper : {false, true})
    for (int64_t k : {-9, -2, 0, 1, 3, 9}) {
      check_node({"Trilu", {{"upper", upper}}, {random_floats({2, 5, 7}), Tensor::scalar(k)}});
      check_node({"Trilu", {{"upper", upper}}, {random_ints(DType::kBool, {6, 4}, 1, 1), Tensor::scalar(k)}});
    }
  check_node({"Trilu", {}, {random_floats({300, 300})}});
}

TEST(Move, tiles_every_axis) {
  check_node({"Tile", {}, {random_floats({3, 5, 7}), ints({2, 1, 3})}, {1}});
  check_node({"Tile", {}, {random_ints(DType::kUInt8, {4, 50}, 0, 200), ints({30, 40})}, {1}});
  check_node({"Tile", {}, {random_floats({3, 5}), ints({0, 2})}, {1}});
}

}  // namespace
}  // namespace tutti::cpu::test
