#include <gtest/gtest.h>

#include "unit/backends/cpu/kernel_check.h"

namespace tutti::cpu::test {
namespace {

using Ints = std::vector<int64_t>;

TEST(Softmax, works_along_any_axis) {
  for (const char* op : {"Softmax", "LogSoftmax"})
    for (int64_t axis : {-1, 0, 1})
      for (const ir::Dims& dims : {ir::Dims{3, 5, 7}, ir::Dims{2, 130, 33}, ir::Dims{0, 3, 2}, ir::Dims{1, 1, 1}})
        check_node({op, {{"axis", axis}}, {random_floats(dims)}});
}

TEST(RowNorm, normalises_rows_of_odd_lengths) {
  for (int64_t n : {1, 7, 64, 770}) {
    check_node({"LayerNormalization", {}, {random_floats({5, 3, n}), random_floats({n}), random_floats({n})}, {}, 3});
    check_node({"RMSNormalization", {}, {random_floats({5, 3, n}), random_floats({n})}});
  }
  check_node({"LayerNormalization", {{"axis", int64_t{1}}}, {random_floats({5, 3, 8}), random_floats({3, 8})}});
}

TEST(ChannelNorm, normalises_by_instance_group_and_stored_statistics) {
  const ir::Tensor x = random_floats({2, 12, 5, 7}), scale = random_floats({12}), bias = random_floats({12}, 2),
                   mean = random_floats({12}, 3);
  ir::Tensor variance = ir::Tensor::allocate(ir::DType::kFloat32, {12});
  for (float& v : variance.mutable_data<float>()) v = 0.7f;
  check_node({"InstanceNormalization", {}, {x, scale, bias}});
  check_node({"GroupNormalization", {{"num_groups", int64_t{3}}}, {x, scale, bias}});
  check_node({"BatchNormalization", {}, {x, scale, bias, mean, variance}});
}

TEST(Reduce, folds_leading_middle_and_trailing_axes) {
  for (const char* op :
       {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceSumSquare", "ReduceL1", "ReduceL2"})
    for (const Ints& axes : {Ints{0}, Ints{1}, Ints{-1}, Ints{1, 2}, Ints{0, 1, 2}})
      for (bool keep : {false, true})
        check_node({op, {{"keepdims", keep}}, {random_floats({3, 70, 90}), ints(axes)}, {1}});
  check_node({"GlobalAveragePool", {}, {random_floats({2, 9, 7, 7})}});
}

TEST(Pool, takes_windows_with_padding) {
  for (const char* op : {"MaxPool", "AveragePool"}) {
    check_node({op,
                {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}},
                {random_floats({2, 10, 15, 13})}});
    check_node({op, {{"kernel_shape", Ints{2, 3}}}, {random_floats({1, 3, 9, 9})}});
    check_node(
        {op, {{"kernel_shape", Ints{4}}, {"strides", Ints{3}}, {"pads", Ints{0, 2}}}, {random_floats({2, 5, 20})}});
  }
  check_node({"AveragePool",
              {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}, {"count_include_pad", true}},
              {random_floats({1, 3, 6, 6})}});
}

TEST(Pool, pads_by_itself_when_told_to) {
  for (const char* op : {"MaxPool", "AveragePool"})
    for (const char* mode : {"SAME_UPPER", "SAME_LOWER", "VALID"})
      for (int64_t stride : {1, 2, 3})
        check_node({op,
                    {{"auto_pad", std::string(mode)}, {"kernel_shape", Ints{3, 2}}, {"strides", Ints{stride, stride}}},
                    {random_floats({2, 10, 15, 13})}});
}

TEST(Move, transposes_by_every_permutation) {
  Ints perm{0, 1, 2, 3};
  do {
    check_node({"Transpose", {{"perm", perm}}, {random_floats({2, 3, 17, 35})}});
    check_node({"Transpose", {{"perm", perm}}, {random_floats({1, 40, 1, 33})}});
  } while (std::next_permutation(perm.begin(), perm.end()));
  check_node({"Transpose", {}, {random_floats({200, 300})}});
  check_node({"Transpose", {}, {random_floats({0, 3})}});
}

TEST(Move, slices_with_steps_and_out_of_range_ends) {
  const ir::Tensor x = random_floats({10, 20, 5});
  check_node({"Slice", {}, {x, ints({1, 2}), ints({9, -3}), ints({0, 1}), ints({2, 3})}, {1, 2, 3, 4}});
  check_node({"Slice", {}, {x, ints({-1}), ints({-100}), ints({1}), ints({-1})}, {1, 2, 3, 4}});
  check_node({"Slice", {}, {x, ints({100}), ints({-5}), ints({-1}), ints({-2})}, {1, 2, 3, 4}});
  check_node({"Slice", {}, {x, ints({5}), ints({5})}, {1, 2}});
  check_node({"Slice", {}, {x, ints({-1000}), ints({1000}), ints({2})}, {1, 2, 3}});
}

TEST(Move, expands_concatenates_and_splits) {
  check_node({"Expand", {}, {random_floats({3, 1, 5}), ints({2, 1, 4, 5})}, {1}});
  check_node({"Concat",
              {{"axis", int64_t{1}}},
              {random_floats({2, 3, 4}), random_floats({2, 1, 4}), random_floats({2, 0, 4})}});
  check_node({"Concat", {{"axis", int64_t{-1}}}, {ints({1, 2}), ints({3})}});
  check_node({"Split", {{"axis", int64_t{1}}}, {random_floats({2, 6, 4}), ints({1, 2, 3})}, {1}, 3});
}

TEST(Gather, copies_rows_and_single_elements) {
  check_node({"Gather", {}, {random_floats({50, 33}), ints({3, -1, 49, 0})}});
  check_node({"Gather", {{"axis", int64_t{1}}}, {random_floats({4, 50, 3}), ints({3, -50})}});
  check_node({"Gather", {{"axis", int64_t{-1}}}, {random_floats({4, 50}), ir::Tensor::scalar(int64_t{7})}});
}

}  // namespace
}  // namespace tutti::cpu::test
