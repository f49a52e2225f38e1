#include "ir/shape.h"

#include <algorithm>

namespace tutti::ir {
namespace {

template <class Range, class Text>
std::string list_text(const Range& range, Text text) {
  std::string out = "[";
  for (size_t i = 0; i < range.size(); ++i) out += (i ? "," : "") + text(range[i]);
  return out + "]";
}

}  // namespace

std::string shape_text(const Shape& shape) {
  return list_text(shape, [](const Dim& d) { return d.text(); });
}

std::string dims_text(const Dims& dims) {
  return list_text(dims, [](int64_t d) { return std::to_string(d); });
}

Shape to_shape(const Dims& dims) { return Shape(dims.begin(), dims.end()); }

std::optional<Dims> to_dims(const Shape& shape) {
  Dims out;
  out.reserve(shape.size());
  for (const Dim& d : shape) {
    if (!d.is_constant()) return std::nullopt;
    out.push_back(*d.constant());
  }
  return out;
}

std::optional<Dims> evaluate(const Shape& shape, const SymbolValues& values) {
  Dims out;
  for (const Dim& d : shape) {
    const auto value = d.evaluate(values);
    if (!value) return std::nullopt;
    out.push_back(*value);
  }
  return out;
}

Result<int64_t> checked_element_count(const Dims& dims) {
  // 2^48 elements is beyond any machine and keeps byte sizes of every type far from overflow.
  constexpr int64_t kLimit = int64_t{1} << 48;
  int64_t count = 1;
  bool empty = false;
  for (int64_t d : dims) {
    if (d < 0)
      return make_error(Code::kInvalidInput, "shape {}: found dimension {}, expected 0 or more", dims_text(dims), d);
    if (d == 0)
      empty = true;
    else if (count > kLimit / d)
      return make_error(Code::kLimit, "shape {}: found more than 2^48 elements, expected a tensor that fits in memory",
                        dims_text(dims));
    else
      count *= d;
  }
  return empty ? 0 : count;
}

int64_t element_count(const Dims& dims) {
  int64_t count = 1;
  for (int64_t d : dims) count *= d;
  return count;
}

Dims row_major_strides(const Dims& dims) {
  Dims strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  return strides;
}

Result<Dims> broadcast(const Dims& a, const Dims& b) {
  Dims out(std::max(a.size(), b.size()));
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1)
      return make_error(
          Code::kInvalidInput,
          "cannot broadcast {} with {}: found {} and {} in dimension {} from the end, expected equal sizes or 1",
          dims_text(a), dims_text(b), x, y, i + 1);
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

Result<Shape> broadcast(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()));
  for (size_t i = 0; i < out.size(); ++i) {
    const Dim x = i < a.size() ? a[a.size() - 1 - i] : Dim(1);
    const Dim y = i < b.size() ? b[b.size() - 1 - i] : Dim(1);
    Dim& d = out[out.size() - 1 - i];
    if (x == y || y.is(1))
      d = x;
    else if (x.is(1))
      d = y;
    else if (x.is_constant() && y.is_constant())
      return make_error(
          Code::kInvalidModel,
          "cannot broadcast {} with {}: found {} and {} in dimension {} from the end, expected equal sizes or 1",
          shape_text(a), shape_text(b), x.text(), y.text(), i + 1);
    else if (x.is_constant())
      d = x;  // the other side must be 1 or the same number
    else if (y.is_constant())
      d = y;
    else
      d = Dim::max(x, y);
  }
  return out;
}

Result<int64_t> normalize_axis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    return make_error(Code::kInvalidModel, "axis: found {}, expected {} to {} for rank {}", axis, -rank, rank - 1,
                      rank);
  return axis < 0 ? axis + rank : axis;
}

Result<std::vector<int64_t>> normalize_axes(const std::vector<int64_t>& axes, int64_t rank) {
  std::vector<int64_t> out;
  for (int64_t axis : axes) {
    const int64_t normal = TUTTI_TRY(normalize_axis(axis, rank));
    if (std::find(out.begin(), out.end(), normal) != out.end())
      return make_error(Code::kInvalidModel, "axes: found {} twice, expected each axis once", normal);
    out.push_back(normal);
  }
  return out;
}

}  // namespace tutti::ir
