#include <gtest/gtest.h>

#include <limits>

#include "unit/backends/cpu/kernel_check.h"

namespace tutti::cpu::test {
namespace {

ir::Tensor positive(const ir::Tensor& t) {
  ir::Tensor out = t.clone();
  for (float& x : out.mutable_data<float>()) x = std::abs(x) + 0.01f;
  return out;
}

ir::Tensor special_floats() {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  return ir::Tensor::from<float>({21},
                                 {0.0f,    -0.0f, 1.0f,   -1.0f,  0.5f,    1.5f, 2.5f, -2.5f, 90.0f, -90.0f, 104.0f,
                                  -104.0f, 1e30f, -1e30f, 1e-30f, -1e-30f, inf,  -inf, nan,   3.99f, 20.5f});
}

TEST(Unary, matches_the_reference_on_odd_sizes_and_special_values) {
  for (const char* op : {"Relu", "Sigmoid", "Tanh", "HardSwish", "HardSigmoid", "LeakyRelu", "Elu", "Erf", "Exp",
                         "Reciprocal", "Neg", "Abs", "Floor", "Ceil", "Round"}) {
    for (const ir::Dims& dims : {ir::Dims{}, ir::Dims{0}, ir::Dims{1}, ir::Dims{3, 5}, ir::Dims{130, 1001}})
      check_node({op, {}, {random_floats(dims)}});
    check_node({op, {}, {special_floats()}});
  }
  for (const char* op : {"Sqrt", "Log", "Softplus", "Softsign", "Sin", "Cos", "Mish"})
    check_node({op, {}, {positive(random_floats({3, 77}))}});
}

TEST(IsNaN, finds_the_nans) { check_node({"IsNaN", {}, {special_floats()}}); }

TEST(Unary, gelu_has_both_forms) {
  for (const char* form : {"none", "tanh"})
    check_node({"Gelu", {{"approximate", std::string(form)}}, {random_floats({5, 1000})}});
}

TEST(Clip, takes_bounds_as_inputs_and_leaves_them_out) {
  check_node({"Clip", {}, {random_floats({100}), ir::Tensor::scalar(-0.5f), ir::Tensor::scalar(0.25f)}});
  check_node({"Clip", {}, {random_floats({100}), ir::Tensor(), ir::Tensor::scalar(0.25f)}});
  check_node({"Clip", {}, {special_floats(), ir::Tensor::scalar(0.0f), ir::Tensor::scalar(6.0f)}});
}

TEST(Binary, broadcasts_like_the_reference) {
  const std::vector<std::pair<ir::Dims, ir::Dims>> shapes{{{4, 5}, {4, 5}},
                                                          {{4, 5}, {}},
                                                          {{}, {4, 5}},
                                                          {{4, 5}, {5}},
                                                          {{4, 1}, {5}},
                                                          {{2, 3, 4, 5}, {1, 3, 1, 1}},
                                                          {{2, 3, 1, 5}, {2, 1, 4, 1}},
                                                          {{0, 3}, {1, 3}},
                                                          {{300, 700}, {700}},
                                                          {{300, 700}, {300, 1}}};
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Max", "Min"})
    for (const auto& [a, b] : shapes) check_node({op, {}, {random_floats(a, 1), random_floats(b, 2)}});
  for (const char* op : {"Max", "Min"}) check_node({op, {}, {special_floats(), random_floats({21})}});
  check_node({"Pow", {}, {positive(random_floats({40, 3})), ir::Tensor::scalar(2.0f)}});
  check_node({"Pow", {}, {positive(random_floats({40, 3})), positive(random_floats({3}))}});
}

TEST(Binary, compares_and_counts_in_integers) {
  for (const char* op : {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"}) {
    check_node({op, {}, {ints({1, 2, 3, -4}), ints({2})}});
    check_node({op, {}, {special_floats(), random_floats({21})}});
  }
  for (const char* op : {"Add", "Sub", "Mul", "Max", "Min"})
    check_node({op, {}, {ints({INT64_MAX, 2, 3, INT64_MIN}), ints({2})}});
  const ir::Tensor a = ir::Tensor::from<bool>({2, 2}, {true, false, true, false}),
                   b = ir::Tensor::from<bool>({2}, {true, true});
  for (const char* op : {"And", "Or", "Xor"}) check_node({op, {}, {a, b}});
}

TEST(Where, selects_elements_of_any_width) {
  const ir::Tensor condition = ir::Tensor::from<bool>({2, 1, 3}, {true, false, true, false, false, true});
  check_node({"Where", {}, {condition, random_floats({4, 3}), ir::Tensor::scalar(7.0f)}});
  check_node({"Where", {}, {condition, ints({1, 2, 3}), ints({9})}});
}

TEST(Cast, converts_between_common_types) {
  for (int to : {1, 6, 7, 9}) check_node({"Cast", {{"to", static_cast<ir::DType>(to)}}, {ints({0, 1, -5, 1LL << 40})}});
  check_node({"Cast", {{"to", ir::DType::kBool}}, {special_floats()}});
}

}  // namespace
}  // namespace tutti::cpu::test
