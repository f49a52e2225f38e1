// How far two results of one model are apart, and whether that is near enough: what `tutti compare` judges by. Unlike
// ops/tolerance.h, which bounds one operator, this bounds what adds up over a whole model.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ir/tensor.h"

namespace tutti::ops {

// Per float tensor: the cosine is at least `cosine` and max|a-b| / max|b| at most `relative`. Other types: at least
// kEqualShare of the elements are equal.
struct Accuracy {
  double cosine, relative;
  friend bool operator==(const Accuracy&, const Accuracy&) = default;
};
inline constexpr Accuracy kFloat32Accuracy{0.99999, 1e-4};
inline constexpr Accuracy kLowPrecisionAccuracy{0.9999, 1e-2};
inline constexpr double kEqualShare = 0.999;

// "COS,REL" with 0 <= COS <= 1 and REL >= 0; a usage error shows the form.
Result<Accuracy> parse_accuracy(std::string_view text);
// Some node, in bodies too, makes floats under 32 bits or rounds to 8-bit integers.
bool has_low_precision(const ir::Graph& graph);

// One element of both sides.
struct ElementPair {
  std::vector<int64_t> position;
  std::string a, b;
  std::string text() const;  // "[0,3]: 1.5 and 2"
};

// Maxima and cosine are over pairs that are finite on both sides. NaN equals NaN, and an infinity the same infinity; a
// NaN or infinity that has no equal makes max_absolute and max_relative infinite.
struct Difference {
  bool pass = true;
  bool comparable = true;  // kinds, types and dims are equal; else nothing below but `text` is filled
  int64_t elements = 0, differing = 0;
  double max_absolute = 0;
  double max_relative = 0;               // max|a-b| / max|b|: relative to the tensor's scale, not element by element
  std::optional<double> cosine;          // floats and complex only
  std::optional<ElementPair> first;      // that differs at all
  std::optional<ElementPair> first_far;  // whose difference alone is over the limit
  std::string text;                      // "found ..., expected ..." when it does not pass
};

// `b` is the reference. Sequences: the element that is farthest apart.
Difference measure_difference(const ir::Datum& a, const ir::Datum& b, const Accuracy& accuracy);

// The sets of the K largest elements along the last axis, row by row; of equal elements the first count.
struct Decisions {
  int64_t rows = 0, equal = 0;
  int64_t first_other = -1;                     // the first row whose sets differ
  std::vector<int64_t> first_in_a, first_in_b;  // its sets, ascending
  bool pass() const;                            // at least kEqualShare of the rows are equal
};
// Nothing where there is no choice: rank 0, a last axis no longer than K, types without an order, other shapes.
std::optional<Decisions> compare_decisions(const ir::Datum& a, const ir::Datum& b, int64_t k);

}  // namespace tutti::ops
