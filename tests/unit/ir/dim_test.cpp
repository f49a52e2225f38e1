#include <gtest/gtest.h>

#include <random>

#include "ir/shape.h"

namespace tutti::ir {
namespace {

const Dim kN = Dim::symbol("n"), kM = Dim::symbol("m");

TEST(Dim, equal_expressions_meet_in_one_form) {
  EXPECT_EQ(Dim(2) * (kN + Dim(1)), kN + kN + Dim(2));
  EXPECT_EQ(kN * kM, kM * kN);
  EXPECT_EQ(kN - kN, Dim(0));
  EXPECT_FALSE(kN == kM);
}

TEST(Dim, exact_divisions_simplify) {
  EXPECT_EQ(Dim::floor_div(Dim(6) * kN, Dim(3)), Dim(2) * kN);
  EXPECT_EQ(Dim::floor_div(kN * kM * Dim(4), kN), Dim(4) * kM);
  EXPECT_EQ(Dim::floor_div(kN + Dim(7), Dim(2)).text(), "floordiv(n+1,2)+3");
}

TEST(Dim, floor_division_rounds_down_for_negative_numbers) {
  EXPECT_EQ(Dim::floor_div(Dim(-7), Dim(2)), Dim(-4));
  EXPECT_EQ(Dim::ceil_div(Dim(7), Dim(2)), Dim(4));
}

TEST(Dim, min_and_max_are_decided_when_the_difference_is_a_number) {
  EXPECT_EQ(Dim::max(kN, kN + Dim(1)), kN + Dim(1));
  EXPECT_EQ(Dim::min(kN, kN - Dim(3)), kN - Dim(3));
  EXPECT_EQ(Dim::max(kN, kM), Dim::max(kM, kN));
}

TEST(Dim, min_and_max_are_sets_without_repeats) {
  const Dim capped = Dim::min(Dim(512), kN);
  EXPECT_EQ(Dim::max(capped, kN), kN);
  EXPECT_EQ(Dim::max(Dim::max(Dim::max(capped, kN), kN), kM).text(), "max(m,n)");
  EXPECT_EQ(Dim::min(Dim::max(kN, kM), kN), kN);
  EXPECT_EQ(Dim::max(Dim::max(kN, kM), Dim::max(kM, kN)), Dim::max(kM, kN));
  EXPECT_EQ(Dim::max(Dim::max(kN, Dim(4)), kM + Dim(1)).text(), "max(4,m+1,n)");
  EXPECT_EQ(Dim::max(Dim::max(kN, Dim(4)), Dim::max(kM, Dim(7))).text(), "max(7,m,n)");
  EXPECT_EQ(Dim::min(Dim::min(kN, Dim(4)), Dim::min(kM, Dim(7))).text(), "min(4,m,n)");
}

TEST(Dim, large_sets_stay_nested_and_still_parse_back) {
  Dim all = Dim::symbol("s0");
  for (int i = 1; i < 40; ++i) all = Dim::max(all, Dim::symbol(fmt::format("s{}", i)));
  auto parsed = Dim::parse(all.text());
  ASSERT_TRUE(parsed.ok()) << parsed.error().text();
  EXPECT_EQ(*parsed, all);
}

TEST(Dim, ranges_follow_the_symbols) {
  const SymbolRanges ranges{{"n", {1, 10}}, {"m", {0, 4}}};
  const Range range = (kN * kM - Dim::floor_div(kN, Dim(3))).range(ranges);
  EXPECT_LE(range.min, -3);
  EXPECT_GE(range.max, 40);
}

Dim random_dim(std::mt19937& random, int depth) {
  switch (random() % (depth > 0 ? 8 : 3)) {
    case 0: return Dim(static_cast<int64_t>(random() % 9));
    case 1: return kN;
    case 2: return kM;
    case 3: return random_dim(random, depth - 1) + random_dim(random, depth - 1);
    case 4: return random_dim(random, depth - 1) * random_dim(random, depth - 1);
    case 5: return Dim::floor_div(random_dim(random, depth - 1), Dim(static_cast<int64_t>(random() % 4 + 1)));
    case 6: return Dim::min(random_dim(random, depth - 1), random_dim(random, depth - 1));
    default: return Dim::max(random_dim(random, depth - 1), random_dim(random, depth - 1));
  }
}

TEST(Dim, text_parses_back_to_an_equal_dim) {
  std::mt19937 random(7);
  for (int i = 0; i < 500; ++i) {
    const Dim dim = random_dim(random, 3) - random_dim(random, 2);
    auto parsed = Dim::parse(dim.text());
    ASSERT_TRUE(parsed.ok()) << parsed.error().text();
    EXPECT_EQ(*parsed, dim) << dim.text();
  }
}

TEST(Dim, substitution_agrees_with_evaluation) {
  std::mt19937 random(11);
  const SymbolValues values{{"n", 5}, {"m", 3}};
  for (int i = 0; i < 500; ++i) {
    const Dim dim = random_dim(random, 3);
    EXPECT_EQ(dim.substitute({{"n", Dim(5)}, {"m", Dim(3)}}).constant(), dim.evaluate(values)) << dim.text();
    const Range range = dim.range({{"n", {5, 5}}, {"m", {3, 3}}});
    EXPECT_EQ(range.min, dim.evaluate(values)) << dim.text();
    EXPECT_EQ(range.max, dim.evaluate(values)) << dim.text();
  }
}

TEST(Dim, malformed_text_is_an_error_that_names_the_place) {
  for (const char* text : {"", "n+", "2**n", "floordiv(n)", "floordiv(n,2,3)", "max(n)", "max(n,m", "(n", "n)"}) {
    auto parsed = Dim::parse(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_NE(parsed.error().message().find("expected an expression"), std::string::npos);
  }
}

TEST(Broadcast, names_both_shapes_when_they_do_not_fit) {
  auto result = broadcast(Dims{2, 3}, Dims{2, 4});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message(),
            "cannot broadcast [2,3] with [2,4]: found 3 and 4 in dimension 1 from the end, expected equal sizes or 1");
}

TEST(Broadcast, a_zero_size_dimension_wins_over_one) { EXPECT_EQ(*broadcast(Dims{0, 3}, Dims{1, 1}), (Dims{0, 3})); }

TEST(ElementCount, overflow_is_a_limit_error) {
  auto result = checked_element_count({int64_t{1} << 40, int64_t{1} << 40});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), Code::kLimit);
}

}  // namespace
}  // namespace tutti::ir
