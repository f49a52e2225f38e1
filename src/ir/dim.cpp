#include <algorithm>
#include <limits>

#include "ir/shape.h"

namespace tutti::ir {

// An opaque factor of a term: a symbol, or an operation that the polynomial form cannot look into.
struct DimAtom {
  enum class Kind : uint8_t { kSymbol, kFloorDiv, kMin, kMax };
  Kind kind = Kind::kSymbol;
  std::string text;           // canonical; identity of the atom
  std::vector<Dim> operands;  // of the operations; min and max: two or more, in the order of their texts
};

namespace {

using Kind = DimAtom::Kind;
using Terms = std::vector<DimTerm>;

int compare_atoms(const DimTerm& x, const DimTerm& y) {
  const size_t common = std::min(x.atoms.size(), y.atoms.size());
  for (size_t i = 0; i < common; ++i)
    if (int c = x.atoms[i]->text.compare(y.atoms[i]->text)) return c;
  return static_cast<int>(x.atoms.size()) - static_cast<int>(y.atoms.size());
}

int64_t floor_divide(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

// Interval end points saturate instead of overflowing.
int64_t saturate(__int128 value) {
  if (value > INT64_MAX) return INT64_MAX;
  if (value < INT64_MIN) return INT64_MIN;
  return static_cast<int64_t>(value);
}

}  // namespace

struct DimBuilder {
  static Dim make(int64_t constant, Terms terms) {
    std::sort(terms.begin(), terms.end(), [](const DimTerm& x, const DimTerm& y) { return compare_atoms(x, y) < 0; });
    Terms merged;
    for (DimTerm& term : terms) {
      if (!merged.empty() && compare_atoms(merged.back(), term) == 0) {
        merged.back().coefficient = saturate(__int128{merged.back().coefficient} + term.coefficient);
      } else {
        merged.push_back(std::move(term));
      }
    }
    std::erase_if(merged, [](const DimTerm& t) { return t.coefficient == 0; });
    Dim out;
    out.constant_ = constant;
    if (!merged.empty()) out.terms_ = std::make_shared<const Terms>(std::move(merged));
    return out;
  }
  static Dim from_atom(DimAtom atom) {
    return make(0, {DimTerm{1, {std::make_shared<const DimAtom>(std::move(atom))}}});
  }
  static Dim operation(Kind kind, std::string_view name, std::vector<Dim> operands) {
    std::string text(name);
    for (size_t i = 0; i < operands.size(); ++i) text += (i ? "," : "(") + operands[i].text();
    return from_atom({kind, text + ")", std::move(operands)});
  }
  // The operands when this is nothing but one operation of that kind, else null.
  static const std::vector<Dim>* operands_of(const Dim& d, Kind kind) {
    if (d.constant_ != 0 || terms(d).size() != 1) return nullptr;
    const DimTerm& term = terms(d)[0];
    return term.coefficient == 1 && term.atoms.size() == 1 && term.atoms[0]->kind == kind ? &term.atoms[0]->operands
                                                                                          : nullptr;
  }
  static const Terms& terms(const Dim& d) {
    static const Terms kNone;
    return d.terms_ ? *d.terms_ : kNone;
  }
  static int64_t constant_part(const Dim& d) { return d.constant_; }
  static Dim scaled(const Dim& d, int64_t factor) {
    Terms out = terms(d);
    for (DimTerm& t : out) t.coefficient = saturate(__int128{t.coefficient} * factor);
    return make(saturate(__int128{d.constant_} * factor), std::move(out));
  }
  // a / b when every term divides, else nothing.
  static std::optional<Dim> exact_divide(const Dim& a, const Dim& b);
};

std::optional<Dim> DimBuilder::exact_divide(const Dim& a, const Dim& b) {
  if (b.is_constant()) {
    const int64_t divisor = b.constant_;
    if (divisor == 0 || a.constant_ % divisor != 0) return std::nullopt;
    Terms out = terms(a);
    for (DimTerm& t : out) {
      if (t.coefficient % divisor != 0) return std::nullopt;
      t.coefficient /= divisor;
    }
    return make(a.constant_ / divisor, std::move(out));
  }
  const Terms& divisor_terms = terms(b);
  if (divisor_terms.size() != 1 || b.constant_ != 0) return a == b ? std::optional(Dim(1)) : std::nullopt;
  const DimTerm& divisor = divisor_terms[0];
  if (a.constant_ != 0) return std::nullopt;
  Terms out;
  int64_t constant = 0;
  for (DimTerm term : terms(a)) {
    if (term.coefficient % divisor.coefficient != 0) return std::nullopt;
    term.coefficient /= divisor.coefficient;
    for (const auto& atom : divisor.atoms) {
      auto found =
          std::find_if(term.atoms.begin(), term.atoms.end(), [&](const auto& x) { return x->text == atom->text; });
      if (found == term.atoms.end()) return std::nullopt;
      term.atoms.erase(found);
    }
    if (term.atoms.empty())
      constant += term.coefficient;
    else
      out.push_back(std::move(term));
  }
  return make(constant, std::move(out));
}

Dim Dim::symbol(std::string_view name) { return DimBuilder::from_atom({Kind::kSymbol, std::string(name), {}}); }

std::optional<std::string> Dim::symbol_name() const {
  if (constant_ != 0 || !terms_ || terms_->size() != 1) return std::nullopt;
  const DimTerm& term = (*terms_)[0];
  if (term.coefficient != 1 || term.atoms.size() != 1 || term.atoms[0]->kind != Kind::kSymbol) return std::nullopt;
  return term.atoms[0]->text;
}

Dim operator+(const Dim& a, const Dim& b) {
  Terms terms = DimBuilder::terms(a);
  const Terms& more = DimBuilder::terms(b);
  terms.insert(terms.end(), more.begin(), more.end());
  return DimBuilder::make(saturate(__int128{a.constant_} + b.constant_), std::move(terms));
}

Dim operator-(const Dim& a, const Dim& b) { return a + DimBuilder::scaled(b, -1); }

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_constant()) return DimBuilder::scaled(b, a.constant_);
  if (b.is_constant()) return DimBuilder::scaled(a, b.constant_);
  Terms out;
  for (const DimTerm& x : *a.terms_) {
    for (const DimTerm& y : *b.terms_) {
      DimTerm product{saturate(__int128{x.coefficient} * y.coefficient), x.atoms};
      product.atoms.insert(product.atoms.end(), y.atoms.begin(), y.atoms.end());
      std::sort(product.atoms.begin(), product.atoms.end(),
                [](const auto& p, const auto& q) { return p->text < q->text; });
      out.push_back(std::move(product));
    }
  }
  return DimBuilder::make(0, std::move(out)) + DimBuilder::scaled(DimBuilder::make(0, *a.terms_), b.constant_) +
         DimBuilder::scaled(DimBuilder::make(0, *b.terms_), a.constant_) +
         Dim(saturate(__int128{a.constant_} * b.constant_));
}

Dim Dim::floor_div(const Dim& a, const Dim& b) {
  if (b.is(1)) return a;
  if (a.is_constant() && b.is_constant() && b.constant_ != 0) return floor_divide(a.constant_, b.constant_);
  if (auto exact = DimBuilder::exact_divide(a, b)) return *exact;
  if (b.is_constant() && b.constant_ > 0) {
    // (k*b*x + rest) / b = k*x + rest / b: what divides moves out, so that equal expressions meet in one form.
    Terms whole, rest;
    for (const DimTerm& t : DimBuilder::terms(a)) {
      if (t.coefficient % b.constant_ == 0)
        whole.push_back({t.coefficient / b.constant_, t.atoms});
      else
        rest.push_back(t);
    }
    const int64_t quotient = floor_divide(a.constant_, b.constant_);
    const int64_t remainder = a.constant_ - quotient * b.constant_;
    const Dim inner = DimBuilder::make(remainder, std::move(rest));
    const Dim outer = DimBuilder::make(quotient, std::move(whole));
    if (inner.is_constant()) return outer + Dim(floor_divide(inner.constant_, b.constant_));
    return outer + DimBuilder::operation(Kind::kFloorDiv, "floordiv", {inner, b});
  }
  return DimBuilder::operation(Kind::kFloorDiv, "floordiv", {a, b});
}

namespace {

constexpr size_t kMaxOperands = 16;  // larger sets stay nested: they are compared pair by pair
constexpr int kMaxLook = 4;          // how far into nested operations a comparison looks

// Provably a <= b, whatever the symbols are.
bool never_exceeds(const Dim& a, const Dim& b, int look = kMaxLook) {
  if (const auto difference = (a - b).constant()) return *difference <= 0;
  if (look == 0) return false;
  const auto* low = DimBuilder::operands_of(a, Kind::kMin);
  const auto* high = DimBuilder::operands_of(b, Kind::kMax);
  const auto below = [&](const Dim& d) { return never_exceeds(d, b, look - 1); };
  const auto above = [&](const Dim& d) { return never_exceeds(a, d, look - 1); };
  if (low && std::any_of(low->begin(), low->end(), below)) return true;
  if (high && std::any_of(high->begin(), high->end(), above)) return true;
  low = DimBuilder::operands_of(b, Kind::kMin);
  high = DimBuilder::operands_of(a, Kind::kMax);
  return (low && std::all_of(low->begin(), low->end(), above)) ||
         (high && std::all_of(high->begin(), high->end(), below));
}

// One set of operands, none of which another makes redundant: max(max(n,m),n) = max(m,n), max(min(8,n),n) = n.
Dim extreme(Kind kind, std::string_view name, const Dim& a, const Dim& b) {
  const auto decided_by = [&](const Dim& x, const Dim& y) {
    return kind == Kind::kMax ? never_exceeds(x, y) : never_exceeds(y, x);
  };
  std::vector<Dim> all;
  for (const Dim* side : {&a, &b}) {
    const auto* nested = DimBuilder::operands_of(*side, kind);
    if (nested)
      all.insert(all.end(), nested->begin(), nested->end());
    else
      all.push_back(*side);
  }
  if (all.size() > kMaxOperands) all = {a, b};
  std::vector<Dim> kept;
  for (const Dim& next : all) {
    if (std::any_of(kept.begin(), kept.end(), [&](const Dim& other) { return decided_by(next, other); })) continue;
    std::erase_if(kept, [&](const Dim& other) { return decided_by(other, next); });
    kept.push_back(next);
  }
  if (kept.size() == 1) return kept[0];
  std::sort(kept.begin(), kept.end(), [](const Dim& x, const Dim& y) { return x.text() < y.text(); });
  return DimBuilder::operation(kind, name, std::move(kept));
}

}  // namespace

Dim Dim::min(const Dim& a, const Dim& b) { return extreme(Kind::kMin, "min", a, b); }
Dim Dim::max(const Dim& a, const Dim& b) { return extreme(Kind::kMax, "max", a, b); }

bool operator==(const Dim& a, const Dim& b) {
  if (a.constant_ != b.constant_) return false;
  if (a.terms_ == b.terms_) return true;
  const Terms &x = DimBuilder::terms(a), &y = DimBuilder::terms(b);
  if (x.size() != y.size()) return false;
  for (size_t i = 0; i < x.size(); ++i)
    if (x[i].coefficient != y[i].coefficient || compare_atoms(x[i], y[i]) != 0) return false;
  return true;
}

bool Dim::never_equal(const Dim& a, const Dim& b) {
  const Dim difference = a - b;
  return difference.is_constant() && difference.constant_ != 0;
}

namespace {

std::optional<int64_t> atom_value(const DimAtom& atom, const SymbolValues& values) {
  if (atom.kind == Kind::kSymbol) {
    const auto found = values.find(atom.text);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  }
  std::vector<int64_t> operands;
  for (const Dim& operand : atom.operands) {
    const auto value = operand.evaluate(values);
    if (!value) return std::nullopt;
    operands.push_back(*value);
  }
  if (atom.kind == Kind::kMin) return *std::min_element(operands.begin(), operands.end());
  if (atom.kind == Kind::kMax) return *std::max_element(operands.begin(), operands.end());
  return operands[1] == 0 ? std::nullopt : std::optional(floor_divide(operands[0], operands[1]));
}

}  // namespace

std::optional<int64_t> Dim::evaluate(const SymbolValues& values) const {
  __int128 sum = constant_;
  for (const DimTerm& term : DimBuilder::terms(*this)) {
    __int128 product = term.coefficient;
    for (const auto& atom : term.atoms) {
      const auto value = atom_value(*atom, values);
      if (!value) return std::nullopt;
      product *= *value;
      if (product > INT64_MAX || product < INT64_MIN) return std::nullopt;
    }
    sum += product;
  }
  if (sum > INT64_MAX || sum < INT64_MIN) return std::nullopt;
  return static_cast<int64_t>(sum);
}

namespace {

Range multiply(Range a, Range b) {
  const __int128 products[] = {__int128{a.min} * b.min, __int128{a.min} * b.max, __int128{a.max} * b.min,
                               __int128{a.max} * b.max};
  return {saturate(*std::min_element(products, products + 4)), saturate(*std::max_element(products, products + 4))};
}

Range atom_range(const DimAtom& atom, const SymbolRanges& ranges) {
  if (atom.kind == Kind::kSymbol) {
    auto found = ranges.find(atom.text);
    return found == ranges.end() ? Range{} : found->second;
  }
  if (atom.kind != Kind::kFloorDiv) {
    Range out = atom.operands[0].range(ranges);
    for (const Dim& operand : atom.operands) {
      const Range next = operand.range(ranges);
      out = atom.kind == Kind::kMin ? Range{std::min(out.min, next.min), std::min(out.max, next.max)}
                                    : Range{std::max(out.min, next.min), std::max(out.max, next.max)};
    }
    return out;
  }
  const Range a = atom.operands[0].range(ranges), b = atom.operands[1].range(ranges);
  if (b.min <= 0) return {INT64_MIN, INT64_MAX};
  const int64_t ends[] = {floor_divide(a.min, b.min), floor_divide(a.min, b.max), floor_divide(a.max, b.min),
                          floor_divide(a.max, b.max)};
  return {*std::min_element(ends, ends + 4), *std::max_element(ends, ends + 4)};
}

}  // namespace

Range Dim::range(const SymbolRanges& ranges) const {
  Range sum{constant_, constant_};
  for (const DimTerm& term : DimBuilder::terms(*this)) {
    Range product{term.coefficient, term.coefficient};
    for (const auto& atom : term.atoms) product = multiply(product, atom_range(*atom, ranges));
    sum = {saturate(__int128{sum.min} + product.min), saturate(__int128{sum.max} + product.max)};
  }
  return sum;
}

Dim Dim::substitute(const std::map<std::string, Dim, std::less<>>& by) const {
  Dim sum(constant_);
  for (const DimTerm& term : DimBuilder::terms(*this)) {
    Dim product(term.coefficient);
    for (const auto& atom : term.atoms) {
      if (atom->kind == Kind::kSymbol) {
        auto found = by.find(atom->text);
        product = product * (found == by.end() ? Dim::symbol(atom->text) : found->second);
        continue;
      }
      Dim value = atom->operands[0].substitute(by);
      for (size_t i = 1; i < atom->operands.size(); ++i) {
        const Dim next = atom->operands[i].substitute(by);
        value = atom->kind == Kind::kFloorDiv ? floor_div(value, next)
                : atom->kind == Kind::kMin    ? min(value, next)
                                              : max(value, next);
      }
      product = product * value;
    }
    sum = sum + product;
  }
  return sum;
}

void Dim::collect_symbols(std::vector<std::string>& into) const {
  for (const DimTerm& term : DimBuilder::terms(*this)) {
    for (const auto& atom : term.atoms) {
      if (atom->kind == Kind::kSymbol) into.push_back(atom->text);
      for (const Dim& operand : atom->operands) operand.collect_symbols(into);
    }
  }
}

std::string Dim::text() const {
  std::string out;
  for (const DimTerm& term : DimBuilder::terms(*this)) {
    const int64_t magnitude = term.coefficient;
    if (!out.empty() && magnitude >= 0) out += "+";
    if (magnitude == -1)
      out += "-";
    else if (magnitude != 1)
      out += fmt::format("{}*", magnitude);
    for (size_t i = 0; i < term.atoms.size(); ++i) out += (i ? "*" : "") + term.atoms[i]->text;
  }
  if (out.empty()) return std::to_string(constant_);
  if (constant_ != 0) out += fmt::format("{:+}", constant_);
  return out;
}

}  // namespace tutti::ir
