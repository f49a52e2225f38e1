// Symbolic dimensions: a Dim is a polynomial over named symbols and opaque terms (floor division, min, max), kept in a
// normal form so that equal expressions compare equal: 2*(n+1) == n+n+2.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace tutti::ir {

using Dims = std::vector<int64_t>;  // a concrete shape

// Inclusive bounds of a symbol; an input dimension is never negative.
struct Range {
  int64_t min = 0;
  int64_t max = INT64_MAX;
};
using SymbolRanges = std::map<std::string, Range, std::less<>>;
using SymbolValues = std::map<std::string, int64_t, std::less<>>;

struct DimAtom;
struct DimTerm {  // coefficient * product of atoms, atoms sorted by their text
  int64_t coefficient = 0;
  std::vector<std::shared_ptr<const DimAtom>> atoms;
};

// One dimension, immutable. Constants do not allocate.
class Dim {
 public:
  Dim() = default;
  Dim(int64_t value) : constant_(value) {}  // NOLINT(google-explicit-constructor)
  static Dim symbol(std::string_view name);

  bool is_constant() const { return terms_ == nullptr; }
  std::optional<int64_t> constant() const { return is_constant() ? std::optional(constant_) : std::nullopt; }
  bool is(int64_t value) const { return is_constant() && constant_ == value; }
  // The name when this is a bare symbol.
  std::optional<std::string> symbol_name() const;

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  // Floor division; the divisor must not be zero where it is constant. Exact divisions simplify: (6*n)/3 == 2*n,
  // (n*m)/n == n's cofactor m.
  static Dim floor_div(const Dim& a, const Dim& b);
  static Dim ceil_div(const Dim& a, const Dim& b) { return floor_div(a + b - Dim(1), b); }
  static Dim min(const Dim& a, const Dim& b);
  static Dim max(const Dim& a, const Dim& b);

  // Provable equality: false means "not known to be equal".
  friend bool operator==(const Dim& a, const Dim& b);
  // a - b is a constant other than zero: never equal, whatever the symbols are.
  static bool never_equal(const Dim& a, const Dim& b);

  // The value under `values`; nothing when a symbol is missing, or on overflow or division by zero.
  std::optional<int64_t> evaluate(const SymbolValues& values) const;
  // Bounds by interval arithmetic.
  Range range(const SymbolRanges& ranges) const;
  Dim substitute(const std::map<std::string, Dim, std::less<>>& by) const;
  void collect_symbols(std::vector<std::string>& into) const;

  // "n", "2*n+1", "floordiv(n+1,2)"; `parse` reads it back.
  std::string text() const;
  static Result<Dim> parse(std::string_view text);

 private:
  friend struct DimBuilder;
  int64_t constant_ = 0;                               // the value, or the polynomial's constant part
  std::shared_ptr<const std::vector<DimTerm>> terms_;  // non-constant terms, sorted; null for constants
};

// Dimensions of a tensor whose rank is known.
using Shape = std::vector<Dim>;

std::string shape_text(const Shape& shape);  // "[1,3,h,w]"
std::string dims_text(const Dims& dims);     // "[1,3,224,224]"
Shape to_shape(const Dims& dims);
std::optional<Dims> to_dims(const Shape& shape);  // when every dimension is constant
std::optional<Dims> evaluate(const Shape& shape, const SymbolValues& values);

// Product of dims; a Limit error when it overflows or is negative.
Result<int64_t> checked_element_count(const Dims& dims);
int64_t element_count(const Dims& dims);  // dims already checked
Dims row_major_strides(const Dims& dims);

// Numpy broadcasting of concrete and symbolic shapes. A symbolic pair that cannot be decided broadcasts to their max.
Result<Dims> broadcast(const Dims& a, const Dims& b);
Result<Shape> broadcast(const Shape& a, const Shape& b);

// `axis` in [-rank, rank) made non-negative, or an error naming both.
Result<int64_t> normalize_axis(int64_t axis, int64_t rank);
Result<std::vector<int64_t>> normalize_axes(const std::vector<int64_t>& axes, int64_t rank);  // also refuses duplicates

}  // namespace tutti::ir
