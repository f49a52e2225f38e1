// Static types of graph values.
#pragma once

#include <optional>
#include <string>

#include "ir/dtype.h"
#include "ir/shape.h"

namespace tutti::ir {

// A tensor, a sequence of tensors, or an optional of either. `shape` is empty when the rank is unknown; for sequences
// it is the elements' common shape if they have one.
struct ValueType {
  enum class Kind : uint8_t { kTensor, kSequence };
  Kind kind = Kind::kTensor;
  bool is_optional = false;
  DType dtype = DType::kUndefined;
  std::optional<Shape> shape;

  static ValueType tensor(DType dtype, std::optional<Shape> shape) {
    return {Kind::kTensor, false, dtype, std::move(shape)};
  }
  static ValueType sequence(DType dtype, std::optional<Shape> shape = {}) {
    return {Kind::kSequence, false, dtype, std::move(shape)};
  }

  bool is_tensor() const { return kind == Kind::kTensor && !is_optional; }
  bool has_rank() const { return shape.has_value(); }
  int64_t rank() const { return static_cast<int64_t>(shape->size()); }
  // The dims when every one is constant.
  std::optional<Dims> static_dims() const { return shape ? to_dims(*shape) : std::nullopt; }
  // "float32[1,3,h,w]", "float32[?]" (unknown rank), "seq<float32[?]>", "opt<...>".
  std::string text() const;
  static Result<ValueType> parse(std::string_view text);

  friend bool operator==(const ValueType&, const ValueType&) = default;
};

}  // namespace tutti::ir
