#include "ops/accuracy.h"

#include <cmath>

#include <gtest/gtest.h>

#include "ir/builder.h"
#include "ops/op_list.h"

namespace tutti::ops {
namespace {

using ir::Datum;
using ir::Tensor;

TEST(Accuracy, measures_differences_in_units_of_the_references_scale) {
  const auto found = measure_difference(Tensor::from<float>({2, 2}, {1, 2, 3.5f, -8}),
                                        Tensor::from<float>({2, 2}, {1, 2, 3, -8}), kFloat32Accuracy);
  EXPECT_EQ(found.max_absolute, 0.5);
  EXPECT_EQ(found.max_relative, 0.5 / 8);
  EXPECT_NEAR(*found.cosine, (1 + 4 + 10.5 + 64) / std::sqrt((1 + 4 + 12.25 + 64) * (1 + 4 + 9 + 64.0)), 1e-12);
  EXPECT_EQ(found.elements, 4);
  EXPECT_EQ(found.differing, 1);
  EXPECT_EQ(found.first->text(), "[1,0]: 3.5 and 3");
  EXPECT_FALSE(found.pass);
  EXPECT_EQ(found.text, "found max rel 0.0625 (first at [1,0]: 3.5 and 3), expected at most 0.0001");
}

TEST(Accuracy, names_the_first_difference_apart_from_the_first_that_is_too_large) {
  const auto found = measure_difference(Tensor::from<float>({3}, {1.00001f, 2, 4}), Tensor::from<float>({3}, {1, 2, 3}),
                                        kFloat32Accuracy);
  EXPECT_EQ(found.first->position, std::vector<int64_t>{0});
  EXPECT_EQ(found.first_far->position, std::vector<int64_t>{2});
  EXPECT_EQ(found.differing, 2);
}

TEST(Accuracy, judges_the_direction_where_the_scale_forgives) {
  const Tensor a = Tensor::from<float>({2}, {1, 0}), b = Tensor::from<float>({2}, {0, 1});
  EXPECT_EQ(*measure_difference(a, b, {0.9, 2}).cosine, 0);
  EXPECT_EQ(measure_difference(a, b, {0.9, 2}).text, "found cosine 0, expected at least 0.9");
  EXPECT_TRUE(measure_difference(a, b, {0, 2}).pass);
}

TEST(Accuracy, takes_nan_for_equal_to_nan_and_an_infinity_to_the_same_infinity) {
  const Tensor odd = Tensor::from<float>({3}, {NAN, INFINITY, 1});
  EXPECT_TRUE(measure_difference(odd, odd.clone(), {1, 0}).pass);
  EXPECT_EQ(*measure_difference(odd, odd.clone(), {1, 0}).cosine, 1);
  for (const float other : {-INFINITY, NAN, 1.0f}) {
    const auto found = measure_difference(Tensor::from<float>({3}, {NAN, other, 1}), odd, {0, 1e30});
    EXPECT_FALSE(found.pass);
    EXPECT_TRUE(std::isinf(found.max_absolute));
    EXPECT_EQ(found.first_far->position, std::vector<int64_t>{1});
    EXPECT_NE(found.text.find("NaN or infinity on one side only"), std::string::npos) << found.text;
  }
}

TEST(Accuracy, compares_zeros_and_nothing_without_dividing_by_them) {
  const Tensor zeros = Tensor::zeros(ir::DType::kFloat32, {4});
  EXPECT_TRUE(measure_difference(zeros, zeros.clone(), {1, 0}).pass);
  EXPECT_FALSE(measure_difference(Tensor::from<float>({4}, {0, 0, 0, 1}), zeros, kLowPrecisionAccuracy).pass);
  EXPECT_TRUE(
      measure_difference(Tensor::zeros(ir::DType::kFloat32, {0, 3}), Tensor::zeros(ir::DType::kFloat32, {0, 3}), {1, 0})
          .pass);
  EXPECT_TRUE(measure_difference(Datum(), Datum(), {1, 0}).pass);
}

TEST(Accuracy, wants_nearly_all_integers_equal) {
  Tensor b = Tensor::zeros(ir::DType::kInt64, {2000});
  Tensor a = b.clone();
  a.set_int(1999, 7);
  a.set_int(1998, 7);
  EXPECT_TRUE(measure_difference(a, b, kFloat32Accuracy).pass);
  EXPECT_EQ(measure_difference(a, b, kFloat32Accuracy).max_absolute, 7);
  EXPECT_FALSE(measure_difference(a, b, kFloat32Accuracy).cosine);
  a.set_int(0, 1);
  const auto found = measure_difference(a, b, kFloat32Accuracy);
  EXPECT_FALSE(found.pass);
  EXPECT_EQ(found.text, "found 1997 of 2000 elements equal (first other at [0]: 1 and 0), expected at least 99.9 %");
}

TEST(Accuracy, sees_integers_that_are_one_double) {
  const auto found = measure_difference(Tensor::scalar<int64_t>((int64_t{1} << 60) + 1),
                                        Tensor::scalar<int64_t>(int64_t{1} << 60), kFloat32Accuracy);
  EXPECT_FALSE(found.pass);
  EXPECT_EQ(found.max_absolute, 1);
}

TEST(Accuracy, compares_bool_text_and_complex_numbers) {
  EXPECT_FALSE(
      measure_difference(Tensor::from<bool>({2}, {true, false}), Tensor::from<bool>({2}, {true, true}), {0, 1}).pass);
  const auto text = measure_difference(Tensor::strings({1}, {"a"}), Tensor::strings({1}, {"b"}), {0, 1});
  EXPECT_EQ(text.first->text(), "[0]: 'a' and 'b'");
  Tensor a = Tensor::zeros(ir::DType::kComplex64, {2});
  static_cast<float*>(a.mutable_raw())[3] = 1;
  const auto found = measure_difference(a, Tensor::zeros(ir::DType::kComplex64, {2}), kFloat32Accuracy);
  EXPECT_EQ(found.differing, 1);
  EXPECT_EQ(found.first->text(), "[1]: (0, 1) and (0, 0)");
}

TEST(Accuracy, names_types_and_shapes_that_differ) {
  const Tensor row = Tensor::from<float>({1}, {1});
  const auto found = measure_difference(row, Tensor::scalar<float>(1), {0, 1});
  EXPECT_FALSE(found.pass);
  EXPECT_FALSE(found.comparable);
  EXPECT_EQ(found.text, "found float32[1], expected float32[]");
  EXPECT_EQ(measure_difference(row, Tensor::from<int32_t>({1}, {1}), {0, 1}).text,
            "found float32[1], expected int32[1]");
  EXPECT_EQ(measure_difference(row, Datum(Datum::Sequence{row}), {0, 1}).text,
            "found float32[1], expected a sequence of 1 tensors");
}

TEST(Accuracy, reports_the_element_of_a_sequence_that_is_farthest_apart) {
  const auto of = [](float last) {
    return Datum(Datum::Sequence{Tensor::scalar<float>(1), Tensor::scalar<float>(last), Tensor::scalar<float>(3)});
  };
  const auto found = measure_difference(of(2.5f), of(2), kFloat32Accuracy);
  EXPECT_EQ(found.max_absolute, 0.5);
  EXPECT_EQ(found.text.find("element 1 of the sequence"), 0u) << found.text;
  EXPECT_TRUE(measure_difference(of(2), of(2), kFloat32Accuracy).pass);
}

TEST(Accuracy, compares_decisions_as_sets_row_by_row) {
  const Tensor a = Tensor::from<float>({2, 4}, {4, 3, 2, 1, 9, 1, 5, 7});
  const Tensor b = Tensor::from<float>({2, 4}, {3, 4, 2, 1, 9, 8, 5, 7});
  EXPECT_EQ(compare_decisions(a, b, 1)->equal, 1);
  const auto two = *compare_decisions(a, b, 2);
  EXPECT_EQ(two.rows, 2);
  EXPECT_EQ(two.equal, 1);
  EXPECT_EQ(two.first_other, 1);
  EXPECT_EQ(two.first_in_a, (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(two.first_in_b, (std::vector<int64_t>{0, 1}));
  EXPECT_FALSE(two.pass());
  EXPECT_TRUE(compare_decisions(a, a.clone(), 3)->pass());
}

TEST(Accuracy, breaks_ties_towards_the_first_and_sees_nan) {
  const Tensor ties = Tensor::from<float>({3}, {1, 1, 1});
  EXPECT_TRUE(compare_decisions(ties, Tensor::from<float>({3}, {2, 1, 1}), 1)->pass());
  EXPECT_FALSE(compare_decisions(Tensor::from<float>({3}, {1, NAN, 1}), ties, 1)->pass());
}

TEST(Accuracy, has_no_decisions_where_there_is_no_choice) {
  EXPECT_FALSE(compare_decisions(Tensor::scalar<float>(1), Tensor::scalar<float>(1), 1));
  EXPECT_FALSE(compare_decisions(Tensor::from<float>({2}, {1, 2}), Tensor::from<float>({2}, {1, 2}), 2));
  EXPECT_FALSE(compare_decisions(Tensor::strings({2}, {"a", "b"}), Tensor::strings({2}, {"a", "b"}), 1));
}

TEST(Accuracy, is_read_from_text) {
  const auto read = parse_accuracy("0.999,1e-3");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, (Accuracy{0.999, 1e-3}));
  for (const char* text : {"", "0.9", "0.9,", "1.1,0", "-0.1,0", "0.9,-1", "0.9,1,", "a,b", "nan,1", "0.9 ,1"}) {
    const auto bad = parse_accuracy(text);
    ASSERT_FALSE(bad.ok()) << text;
    EXPECT_EQ(bad.error().code(), Code::kUsage);
    EXPECT_NE(bad.error().message().find(fmt::format("'{}'", text)), std::string::npos) << bad.error().message();
  }
}

TEST(Accuracy, knows_graphs_of_low_precision) {
  const auto cast_to = [](ir::DType dtype) {
    ir::GraphBuilder builder;
    const auto x = builder.input("x", ir::ValueType::tensor(dtype, ir::Shape{}));
    builder.output("y", builder.node(*find_op("Relu"), {x}));
    return std::move(builder).finish().value();
  };
  EXPECT_FALSE(has_low_precision(cast_to(ir::DType::kFloat32)));
  EXPECT_TRUE(has_low_precision(cast_to(ir::DType::kFloat16)));
}

}  // namespace
}  // namespace tutti::ops
