#include "backends/cpu/simd/gemm.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "unit/backends/cpu/kernel_check.h"

namespace tutti::cpu::test {
namespace {

using Floats = std::vector<float>;

Floats random(int64_t count, uint64_t seed) {
  const ir::Tensor t = random_floats({count}, seed);
  const auto data = t.data<float>();
  return {data.begin(), data.end()};
}

// A product of up to kRows rows with all its operands.
struct Problem {
  static constexpr int64_t kRows = 14;
  int64_t depth, columns;
  Floats a = random(kRows * depth, 1), b = random(depth * columns, 2), bias = random(columns, 3),
         residual = random(kRows * columns, 4);
  Floats packed = Floats(static_cast<size_t>(simd::packed_floats(depth, columns)));
  simd::Epilogue epilogue;

  Problem(int64_t depth_, int64_t columns_) : depth(depth_), columns(columns_) {
    const int64_t panels = (columns + simd::panel_width() - 1) / simd::panel_width();
    simd::pack_b({b.data(), columns, 1}, depth, columns, {0, panels}, packed.data());
  }

  simd::GemmBlock block(int64_t first, int64_t rows, Floats& c) const {
    simd::GemmBlock g;
    g.a_base = a.data() + first * depth;
    g.a_stride = depth;
    g.rows = rows;
    g.channels = depth;
    g.packed_b = packed.data();
    g.column_end = columns;
    g.c = c.data();
    g.c_stride = columns;
    g.epilogue = epilogue;
    g.epilogue.bias = bias.data();
    g.epilogue.residual = residual.data() + first * columns;
    g.epilogue.residual_stride = columns;
    return g;
  }

  Floats product(int64_t first, int64_t rows) const {
    Floats c(static_cast<size_t>(rows * columns), -1);
    simd::gemm(block(first, rows, c));
    return c;
  }
};

bool same_bits(const Floats& whole, int64_t at, const Floats& part) {
  return std::memcmp(whole.data() + at, part.data(), part.size() * sizeof(float)) == 0;
}

std::vector<Problem> problems() {
  const int64_t width = simd::panel_width();
  std::vector<Problem> all;
  for (int64_t depth : {1, 16, 320, 321, 700})
    for (int64_t columns : {int64_t{1}, width - 1, width, width + 5, 9 * width + 3}) all.emplace_back(depth, columns);
  return all;
}

TEST(Gemm, gives_a_row_the_same_bits_alone_and_in_any_company) {
  for (Problem& p : problems())
    for (ops::Activation activation : {ops::Activation::kNone, ops::Activation::kRelu, ops::Activation::kHardSwish,
                                       ops::Activation::kHardSigmoid, ops::Activation::kSilu})
      for (bool first : {false, true}) {
        p.epilogue = {.residual_first = first, .scale = 0.5f, .activation = activation, .alpha = 0.2f, .beta = 0.5f};
        const Floats whole = p.product(0, Problem::kRows);
        for (int64_t rows = 1; rows < Problem::kRows; ++rows)
          EXPECT_TRUE(same_bits(whole, 0, p.product(0, rows)))
              << rows << " rows, depth " << p.depth << ", " << p.columns << " columns";
        EXPECT_TRUE(same_bits(whole, 9 * p.columns, p.product(9, 1))) << "depth " << p.depth;
      }
}

TEST(Gemm, gives_the_same_bits_by_pointers_to_pieces_of_rows) {
  for (const Problem& p : problems()) {
    if (p.depth % 4 != 0) continue;
    const int64_t channels = p.depth / 4;
    for (int64_t rows : {1, 2, 3, 13}) {
      std::vector<const float*> table;
      for (int64_t tap = 0; tap < 4; ++tap)
        for (int64_t r = 0; r < rows; ++r) table.push_back(p.a.data() + r * p.depth + tap * channels);
      Floats c(static_cast<size_t>(rows * p.columns), -1);
      simd::GemmBlock g = p.block(0, rows, c);
      g.a = table.data();
      g.taps = 4;
      g.channels = channels;
      simd::gemm(g);
      EXPECT_TRUE(same_bits(p.product(0, rows), 0, c)) << rows << " rows, depth " << p.depth;
    }
  }
}

TEST(Gemm, gives_the_same_bits_for_any_range_of_panels) {
  const int64_t width = simd::panel_width();
  const Problem p(330, 9 * width + 3);
  for (int64_t rows : {1, 2, 3, 7}) {
    Floats c(static_cast<size_t>(rows * p.columns), -1);
    for (int64_t begin = 0; begin < p.columns; begin += 3 * width) {
      simd::GemmBlock g = p.block(0, rows, c);
      g.column_begin = begin;
      g.column_end = std::min(p.columns, begin + 3 * width);
      simd::gemm(g);
    }
    EXPECT_TRUE(same_bits(p.product(0, rows), 0, c)) << rows << " rows";
  }
}

}  // namespace
}  // namespace tutti::cpu::test
