#include "ops/reference_gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace tutti::ops {
namespace {

using Matrix = std::vector<float>;

Matrix random_matrix(int64_t size, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  Matrix out(static_cast<size_t>(size));
  for (float& x : out) x = normal(random);
  return out;
}

Matrix transposed(const Matrix& from, int64_t rows, int64_t columns) {
  Matrix out(from.size());
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      out[static_cast<size_t>(j * rows + i)] = from[static_cast<size_t>(i * columns + j)];
  return out;
}

// Sums in float64 and, beside them, of the terms' magnitudes.
struct PlainProduct {
  std::vector<double> sums, magnitudes;
};

PlainProduct plain_product(GemmSize s, const Matrix& a, const Matrix& b) {
  PlainProduct out{std::vector<double>(static_cast<size_t>(s.m * s.n)),
                   std::vector<double>(static_cast<size_t>(s.m * s.n))};
  for (int64_t i = 0; i < s.m; ++i)
    for (int64_t j = 0; j < s.n; ++j)
      for (int64_t p = 0; p < s.k; ++p) {
        const double term = double{a[static_cast<size_t>(i * s.k + p)]} * double{b[static_cast<size_t>(p * s.n + j)]};
        out.sums[static_cast<size_t>(i * s.n + j)] += term;
        out.magnitudes[static_cast<size_t>(i * s.n + j)] += std::fabs(term);
      }
  return out;
}

struct ReferenceProduct : testing::TestWithParam<std::tuple<int64_t, int64_t, int64_t>> {
  GemmSize size{std::get<0>(GetParam()), std::get<1>(GetParam()), std::get<2>(GetParam())};
  Matrix a = random_matrix(size.m * size.k, 1), b = random_matrix(size.k * size.n, 2);
  Matrix product(GemmSize s, GemmOperand left, GemmOperand right) const {
    Matrix out(static_cast<size_t>(s.m * s.n), NAN);
    reference_gemm(s, left, right, {out.data(), s.n, false});
    return out;
  }
};

TEST_P(ReferenceProduct, agrees_with_the_plain_loop) {
  const PlainProduct expected = plain_product(size, a, b);
  const Matrix found = product(size, {a.data(), size.k, 1}, {b.data(), size.n, 1});
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_LE(std::fabs(found[i] - expected.sums[i]), 1e-6 * expected.magnitudes[i]) << "element " << i;
}

TEST_P(ReferenceProduct, gives_the_same_bits_in_every_layout_and_row_by_row) {
  const Matrix plain = product(size, {a.data(), size.k, 1}, {b.data(), size.n, 1});
  const Matrix at = transposed(a, size.m, size.k), bt = transposed(b, size.k, size.n);
  EXPECT_EQ(product(size, {at.data(), 1, size.m}, {bt.data(), 1, size.k}), plain);
  for (int64_t i = 0; i < size.m; ++i) {
    const Matrix row = product({1, size.n, size.k}, {a.data() + i * size.k, size.k, 1}, {b.data(), size.n, 1});
    ASSERT_TRUE(std::equal(row.begin(), row.end(), plain.begin() + i * size.n)) << "row " << i;
  }
}

TEST_P(ReferenceProduct, adds_to_what_the_target_holds) {
  const Matrix plain = product(size, {a.data(), size.k, 1}, {b.data(), size.n, 1});
  Matrix found(plain.size(), 2.0f);
  reference_gemm(size, {a.data(), size.k, 1}, {b.data(), size.n, 1}, {found.data(), size.n, true});
  for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], 2.0f + plain[i], 1e-4f) << "element " << i;
}

INSTANTIATE_TEST_SUITE_P(Sizes, ReferenceProduct,
                         testing::Combine(testing::Values<int64_t>(1, 3, 4, 5, 13),
                                          testing::Values<int64_t>(1, 15, 16, 33, 1041),
                                          testing::Values<int64_t>(0, 1, 255, 258)));

}  // namespace
}  // namespace tutti::ops
