#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "unit/backends/cpu/kernel_check.h"

namespace tutti::cpu::test {
namespace {

using ir::DType;
using ir::Tensor;

using Ints = std::vector<int64_t>;

Tensor with_nan(Tensor t) {
  for (int64_t i = 3; i < t.size(); i += 17) t.set_double(i, std::nan(""));
  return t;
}

TEST(ArgReduce, finds_the_best_along_any_axis) {
  for (const char* op : {"ArgMax", "ArgMin"})
    for (int64_t axis : {0, 1, -1})
      for (bool last : {false, true})
        for (bool keep : {false, true}) {
          const std::vector<ir::AttrField> attrs{{"axis", axis}, {"select_last_index", last}, {"keepdims", keep}};
          check_node({op, attrs, {random_floats({4, 30, 90})}});
          check_node({op, attrs, {with_nan(random_floats({4, 30, 9}))}});
          for (DType type : {DType::kInt8, DType::kUInt8, DType::kInt32, DType::kInt64})
            check_node({op, attrs, {random_ints(type, {4, 30, 9}, 0, 5)}});
        }
}

TEST(TopK, sorts_the_best_and_breaks_ties_by_index) {
  for (bool largest : {false, true})
    for (int64_t axis : {0, 1, -1}) {
      const std::vector<ir::AttrField> attrs{{"axis", axis}, {"largest", largest}};
      for (int64_t k : {0, 1, 3, 4})
        check_node({"TopK", attrs, {with_nan(random_floats({4, 30, 90})), ints({k})}, {1}, 2});
      check_node({"TopK", attrs, {random_ints(DType::kInt64, {8, 30, 9}, 0, 5), ints({7})}, {1}, 2});
    }
  check_node({"TopK", {}, {random_floats({50, 3000}), ints({300})}, {1}, 2});
  check_node({"TopK", {}, {random_floats({3000}), ints({3000})}, {1}, 2});
}

TEST(Cumulative, adds_and_multiplies_along_any_axis) {
  for (const char* op : {"CumSum", "CumProd"})
    for (int64_t axis : {0, 1, -1})
      for (bool exclusive : {false, true})
        for (bool reverse : {false, true}) {
          const std::vector<ir::AttrField> attrs{{"exclusive", exclusive}, {"reverse", reverse}};
          check_node({op, attrs, {random_floats({5, 9, 70}), Tensor::scalar(axis)}, {1}});
          check_node({op, attrs, {random_ints(DType::kInt32, {5, 9, 7}, -9, 9), Tensor::scalar(axis)}, {1}});
        }
  check_node({"CumSum", {}, {random_floats({3, 20000}), Tensor::scalar(int64_t{1})}, {1}});
}

TEST(ReduceAny, folds_axes_that_are_not_neighbours) {
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceSumSquare", "ReduceL1", "ReduceL2",
                         "ReduceProd", "ReduceLogSum", "ReduceLogSumExp"})
    for (const Ints& axes : {Ints{0, 2}, Ints{1, 3}, Ints{0, 1, 3}, Ints{-1}}) {
      Tensor x = random_floats({3, 7, 5, 9});
      for (float& v : x.mutable_data<float>()) v = std::fabs(v) * 0.5f + 0.6f;
      check_node({op, {}, {x, ints(axes)}, {1}});
    }
  check_node({"ReduceSum", {}, {random_floats({64, 3, 2000}), ints({0, 2})}, {1}});
}

TEST(ReduceAny, folds_integers_exactly) {
  for (const char* op :
       {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceSumSquare", "ReduceL1", "ReduceL2", "ReduceProd"})
    for (DType type : {DType::kInt32, DType::kInt64})
      for (const Ints& axes : {Ints{1}, Ints{0, 2}, Ints{0, 1, 2}})
        check_node({op, {{"keepdims", false}}, {random_ints(type, {4, 5, 6}, -99, 99), ints(axes)}, {1}});
  for (const char* op : {"ReduceMax", "ReduceMin"})
    for (DType type : {DType::kBool, DType::kInt8, DType::kUInt8})
      check_node({op, {}, {random_ints(type, {4, 5, 6}, 0, 1), ints({1})}, {1}});
  check_node({"ReduceSum", {{"noop_with_empty_axes", true}}, {random_ints(DType::kInt64, {4, 5}, -9, 9)}});
  check_node({"ReduceMax", {}, {random_floats({0, 3}), ints({0})}, {1}});
}

TEST(Cast, converts_between_all_numbers) {
  const DType types[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16,
                         DType::kInt8,    DType::kUInt8,   DType::kInt16,   DType::kUInt16,
                         DType::kInt32,   DType::kUInt32,  DType::kInt64,   DType::kBool};
  for (DType from : types) {
    Tensor x = Tensor::allocate(from, {67});
    for (int64_t i = 0; i < x.size(); ++i)
      ir::is_floating(from) ? x.set_double(i, static_cast<double>(i - 30) * 7.3) : x.set_int(i, (i - 30) * 41);
    for (DType to : types)
      if (to != from) check_node({"Cast", {{"to", to}}, {x}});
  }
}

TEST(Cast, pins_down_what_does_not_fit) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::from<float>({6}, {std::nanf(""), infinity, -infinity, 3e10f, -3e10f, 1e19f});
  for (DType to : {DType::kInt64, DType::kInt32, DType::kUInt8, DType::kBool}) check_node({"Cast", {{"to", to}}, {x}});
}

TEST(Tests, answer_for_every_element) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::from<float>({5}, {1, infinity, -infinity, std::nanf(""), -3});
  check_node({"IsNaN", {}, {x}});
  for (bool negative : {false, true})
    for (bool positive : {false, true})
      check_node({"IsInf", {{"detect_negative", negative}, {"detect_positive", positive}}, {x}});
  check_node({"Not", {}, {random_ints(DType::kBool, {70, 90}, 0, 1)}});
}

}  // namespace
}  // namespace tutti::cpu::test
