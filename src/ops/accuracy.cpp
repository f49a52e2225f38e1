#include "ops/accuracy.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>

#include "ir/op_def.h"
#include "ops/real_reader.h"

namespace tutti::ops {
namespace {

using ir::Datum;
using ir::DType;
using ir::Tensor;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Difference incomparable(const std::string& found, const std::string& expected) {
  return {.pass = false, .comparable = false, .text = fmt::format("found {}, expected {}", found, expected)};
}

std::string kind_text(const Datum& datum) {
  if (datum.empty()) return "nothing";
  if (datum.is_sequence()) return fmt::format("a sequence of {} tensors", datum.sequence().size());
  return datum.tensor().type_text();
}

std::vector<int64_t> position_of(const ir::Dims& dims, int64_t index) {
  std::vector<int64_t> position(dims.size());
  for (size_t axis = dims.size(); axis-- > 0; index /= dims[axis]) position[axis] = index % dims[axis];
  return position;
}

std::string element_text(const Tensor& tensor, int64_t index) {
  if (tensor.dtype() == DType::kString) return "'" + tensor.string_data()[static_cast<size_t>(index)] + "'";
  if (tensor.dtype() == DType::kUInt64) return fmt::format("{}", static_cast<uint64_t>(tensor.get_int(index)));
  if (ir::is_integer(tensor.dtype()) || tensor.dtype() == DType::kBool) return fmt::format("{}", tensor.get_int(index));
  const RealReader read(tensor);
  if (ir::is_complex(tensor.dtype())) return fmt::format("({:.9g}, {:.9g})", read(2 * index), read(2 * index + 1));
  return fmt::format("{:.9g}", read(index));
}

ElementPair pair_at(const Tensor& a, const Tensor& b, int64_t index) {
  return {position_of(a.dims(), index), element_text(a, index), element_text(b, index)};
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// Sums over the pairs that are finite on both sides.
struct Sums {
  double ab = 0, aa = 0, bb = 0, scale = 0;
  bool lone = false;  // a NaN or infinity without its equal

  void add(double a, double b) {
    if (std::isfinite(a) && std::isfinite(b)) {
      ab += a * b;
      aa += a * a;
      bb += b * b;
    } else {
      lone = lone || !same(a, b);
    }
    if (std::isfinite(b)) scale = std::max(scale, std::fabs(b));
  }
  double cosine() const {
    if (aa == 0 || bb == 0) return aa == bb ? 1 : 0;
    return std::clamp(ab / (std::sqrt(aa) * std::sqrt(bb)), -1.0, 1.0);
  }
};

double distance(double a, double b) {
  if (same(a, b)) return 0;
  const double error = std::fabs(a - b);
  return std::isfinite(error) ? error : kInfinity;
}

std::string float_fault(const Difference& found, const Sums& sums, const Accuracy& accuracy) {
  const std::string where = found.first_far ? fmt::format(" (first at {})", found.first_far->text()) : "";
  if (sums.lone) return fmt::format("found a NaN or infinity on one side only{}, expected it on both", where);
  if (!(found.max_relative <= accuracy.relative))
    return fmt::format("found max rel {:.3g}{}, expected at most {:g}", found.max_relative, where, accuracy.relative);
  return fmt::format("found cosine {:.9g}, expected at least {:g}", *found.cosine, accuracy.cosine);
}

Difference measure_floats(const Tensor& a, const Tensor& b, const Accuracy& accuracy) {
  const RealReader got(a), want(b);
  const int64_t parts = ir::is_complex(a.dtype()) ? 2 : 1;
  Sums sums;
  for (int64_t i = 0; i < got.size(); ++i) sums.add(got(i), want(i));
  const double scale = std::max(sums.scale, 1e-30);
  Difference out{.elements = a.size(), .cosine = sums.cosine()};
  int64_t counted = -1;
  for (int64_t i = 0; i < got.size(); ++i) {
    const double error = distance(got(i), want(i));
    if (error == 0) continue;
    const int64_t element = i / parts;
    out.differing += element == counted ? 0 : 1;
    counted = element;
    out.max_absolute = std::max(out.max_absolute, error);
    if (!out.first) out.first = pair_at(a, b, element);
    if (!out.first_far && error > accuracy.relative * scale) out.first_far = pair_at(a, b, element);
  }
  out.max_relative = out.max_absolute / scale;
  out.pass =
      out.differing == 0 || (!sums.lone && out.max_relative <= accuracy.relative && *out.cosine >= accuracy.cosine);
  if (!out.pass) out.text = float_fault(out, sums, accuracy);
  return out;
}

bool equal_words(const Tensor& a, const Tensor& b, int64_t i) {
  const auto at = static_cast<size_t>(i);
  return a.dtype() == DType::kString ? a.string_data()[at] == b.string_data()[at] : a.get_int(i) == b.get_int(i);
}

Difference measure_words(const Tensor& a, const Tensor& b) {
  Difference out{.elements = a.size()};
  double scale = 1;
  for (int64_t i = 0; i < a.size(); ++i) {
    const bool number = a.dtype() != DType::kString;
    if (number) scale = std::max(scale, std::fabs(b.get_double(i)));
    if (equal_words(a, b, i)) continue;
    ++out.differing;
    // Neighbours beyond 2^53 are one double.
    out.max_absolute = std::max({out.max_absolute, 1.0, number ? std::fabs(a.get_double(i) - b.get_double(i)) : 0});
    if (!out.first) out.first = out.first_far = pair_at(a, b, i);
  }
  out.max_relative = out.max_absolute / scale;
  const auto equal = static_cast<double>(out.elements - out.differing);
  out.pass = equal >= kEqualShare * static_cast<double>(out.elements);
  if (!out.pass)
    out.text = fmt::format("found {} of {} elements equal (first other at {}), expected at least {:g} %",
                           out.elements - out.differing, out.elements, out.first->text(), kEqualShare * 100);
  return out;
}

Difference measure_tensors(const Tensor& a, const Tensor& b, const Accuracy& accuracy) {
  if (a.dtype() != b.dtype() || a.dims() != b.dims()) return incomparable(a.type_text(), b.type_text());
  const bool real = ir::is_floating(a.dtype()) || ir::is_complex(a.dtype());
  return real ? measure_floats(a, b, accuracy) : measure_words(a, b);
}

// Farther apart: what fails before what passes, then the larger difference.
bool is_farther(const Difference& a, const Difference& b) {
  if (a.pass != b.pass) return !a.pass;
  if (a.comparable != b.comparable) return !a.comparable;
  return a.max_relative > b.max_relative;
}

Difference measure_sequences(const Datum& a, const Datum& b, const Accuracy& accuracy) {
  Difference farthest;
  for (size_t i = 0; i < a.sequence().size(); ++i) {
    Difference one = measure_tensors(a.sequence()[i], b.sequence()[i], accuracy);
    if (!one.pass) one.text = fmt::format("element {} of the sequence: {}", i, one.text);
    if (i == 0 || is_farther(one, farthest)) farthest = std::move(one);
  }
  return farthest;
}

bool rounds_to_integers(std::string_view op) { return op.starts_with("Quantize") || op.starts_with("DynamicQuantize"); }

// NaN counts as the largest, so that it is seen. Of equal elements the first come first.
std::vector<int64_t> largest(const RealReader& read, int64_t row, int64_t columns, int64_t k) {
  std::vector<int64_t> order(static_cast<size_t>(columns));
  std::iota(order.begin(), order.end(), 0);
  const auto value = [&](int64_t i) {
    const double found = read(row * columns + i);
    return std::isnan(found) ? kInfinity : found;
  };
  std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](int64_t x, int64_t y) {
    const double a = value(x), b = value(y);
    return a != b ? a > b : x < y;
  });
  order.resize(static_cast<size_t>(k));
  std::sort(order.begin(), order.end());
  return order;
}

}  // namespace

Result<Accuracy> parse_accuracy(std::string_view text) {
  Accuracy out{};
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, out.cosine);
  const bool comma = first.ec == std::errc() && first.ptr != end && *first.ptr == ',';
  const auto second = comma ? std::from_chars(first.ptr + 1, end, out.relative) : first;
  const bool read = comma && second.ec == std::errc() && second.ptr == end;
  if (read && out.cosine >= 0 && out.cosine <= 1 && out.relative >= 0) return out;
  return Error(Code::kUsage,
               fmt::format("--accuracy: found '{}', expected COS,REL: a cosine of 0 to 1 and a largest relative "
                           "difference of at least 0",
                           text),
               "for example --accuracy 0.9999,1e-2");
}

bool has_low_precision(const ir::Graph& graph) {
  for (ir::NodeId id = graph.first_node(); id != ir::kNoNode; id = graph.next_node(id)) {
    const ir::Node& node = graph.node(id);
    if (rounds_to_integers(node.op->name)) return true;
    for (const ir::ValueId out : node.outputs) {
      const DType dtype = out == ir::kNoValue ? DType::kUndefined : graph.value(out).type.dtype;
      if (ir::is_floating(dtype) && ir::dtype_bits(dtype) < 32) return true;
    }
    for (const auto& body : node.bodies)
      if (has_low_precision(*body)) return true;
  }
  return false;
}

std::string ElementPair::text() const {
  std::string out = "[";
  for (size_t i = 0; i < position.size(); ++i) out += (i ? "," : "") + std::to_string(position[i]);
  return fmt::format("{}]: {} and {}", out, a, b);
}

Difference measure_difference(const Datum& a, const Datum& b, const Accuracy& accuracy) {
  if (a.is_tensor() && b.is_tensor()) return measure_tensors(a.tensor(), b.tensor(), accuracy);
  if (a.empty() && b.empty()) return {};
  if (!a.is_sequence() || !b.is_sequence() || a.sequence().size() != b.sequence().size())
    return incomparable(kind_text(a), kind_text(b));
  return measure_sequences(a, b, accuracy);
}

bool Decisions::pass() const { return static_cast<double>(equal) >= kEqualShare * static_cast<double>(rows); }

std::optional<Decisions> compare_decisions(const Datum& a, const Datum& b, int64_t k) {
  if (!a.is_tensor() || !b.is_tensor()) return std::nullopt;
  const Tensor& x = a.tensor();
  const bool ordered = x.dtype() != DType::kString && !ir::is_complex(x.dtype());
  if (!ordered || x.dims() != b.tensor().dims() || x.rank() == 0 || x.dim(x.rank() - 1) <= k) return std::nullopt;
  const int64_t columns = x.dim(x.rank() - 1);
  const RealReader got(x), want(b.tensor());
  Decisions out{.rows = x.size() / columns};
  for (int64_t row = 0; row < out.rows; ++row) {
    auto in_a = largest(got, row, columns, k), in_b = largest(want, row, columns, k);
    if (in_a == in_b) {
      ++out.equal;
    } else if (out.first_other < 0) {
      out.first_other = row;
      out.first_in_a = std::move(in_a);
      out.first_in_b = std::move(in_b);
    }
  }
  return out;
}

}  // namespace tutti::ops
