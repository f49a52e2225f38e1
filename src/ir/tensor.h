// Host tensors and the values that flow through the interpreter.
#pragma once

#include <complex>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "ir/dtype.h"
#include "ir/shape.h"

namespace tutti::ir {

// A dense row-major tensor in host memory. Copies share the storage; a writer must be its only owner or write before
// sharing. Storage is 64-byte aligned when allocated here. Element types under 8 bits are packed, first element in the
// low bits.
class Tensor {
 public:
  Tensor() = default;
  // Uninitialised (strings are empty). The dims must have been checked (checked_element_count).
  static Tensor allocate(DType dtype, Dims dims);
  static Tensor zeros(DType dtype, Dims dims);
  // Borrows memory that `owner` keeps alive. `owner` may be null when the caller guarantees the lifetime.
  static Tensor view(DType dtype, Dims dims, const void* data, std::shared_ptr<const void> owner);
  // A view into a memory-mapped file, whose pages may be dropped after use (file_backed()).
  static Tensor mapped_view(DType dtype, Dims dims, const void* data, std::shared_ptr<const void> owner);
  static Tensor strings(Dims dims, std::vector<std::string> values);
  template <class T>
  static Tensor from(Dims dims, std::span<const T> values);
  template <class T>
  static Tensor from(Dims dims, std::initializer_list<T> values) {
    return from<T>(std::move(dims), std::span<const T>(values.begin(), values.size()));
  }
  template <class T>
  static Tensor scalar(T value) {
    return from<T>({}, {value});
  }

  bool defined() const { return dtype_ != DType::kUndefined; }
  DType dtype() const { return dtype_; }
  const Dims& dims() const { return dims_; }
  int64_t rank() const { return static_cast<int64_t>(dims_.size()); }
  int64_t dim(int64_t axis) const { return dims_[static_cast<size_t>(axis)]; }
  int64_t size() const { return count_; }  // elements
  size_t size_bytes() const;               // 0 for strings

  bool file_backed() const { return file_backed_; }

  const void* raw() const { return data_; }
  void* mutable_raw() { return data_; }
  template <class T>
  std::span<const T> data() const {
    return {reinterpret_cast<const T*>(data_), static_cast<size_t>(count_)};
  }
  template <class T>
  std::span<T> mutable_data() {
    return {reinterpret_cast<T*>(data_), static_cast<size_t>(count_)};
  }
  std::span<const std::string> string_data() const;
  std::span<std::string> mutable_string_data();

  // Element access through the widest type of its kind; slow, for reference kernels and tests. Every numeric type,
  // packed ones too.
  double get_double(int64_t index) const;
  int64_t get_int(int64_t index) const;          // exact for integers up to int64; uint64 by bits
  void set_double(int64_t index, double value);  // rounds to nearest even (small floats saturate); integers truncate
  void set_int(int64_t index, int64_t value);
  // All elements as int64 (integers and bool only).
  std::vector<int64_t> to_int64() const;
  std::vector<float> to_float() const;

  // Same storage, other dims of equal element count.
  Tensor reshaped(Dims dims) const;
  Tensor clone() const;
  std::string type_text() const;  // "float32[2,3]"

 private:
  DType dtype_ = DType::kUndefined;
  bool file_backed_ = false;
  Dims dims_;
  int64_t count_ = 0;
  void* data_ = nullptr;  // the strings' first element for string tensors
  std::shared_ptr<void> owner_;
};

// Equal types, dims and bits.
bool identical(const Tensor& a, const Tensor& b);

template <class T>
Tensor Tensor::from(Dims dims, std::span<const T> values) {
  static_assert(kDTypeOf<T> != DType::kUndefined);
  Tensor out = allocate(kDTypeOf<T>, std::move(dims));
  TUTTI_CHECK(out.size() == static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) reinterpret_cast<T*>(out.data_)[i] = values[i];
  return out;
}

// What a graph value holds at run time: nothing (an empty optional or an absent input), a tensor, or a sequence of
// tensors.
class Datum {
 public:
  using Sequence = std::vector<Tensor>;
  Datum() = default;
  Datum(Tensor tensor) : state_(std::move(tensor)) {}                                          // NOLINT
  Datum(Sequence sequence) : state_(std::make_shared<const Sequence>(std::move(sequence))) {}  // NOLINT

  bool empty() const { return state_.index() == 0; }
  bool is_tensor() const { return state_.index() == 1; }
  bool is_sequence() const { return state_.index() == 2; }
  const Tensor& tensor() const { return std::get<1>(state_); }
  Tensor& tensor() { return std::get<1>(state_); }
  const Sequence& sequence() const { return *std::get<2>(state_); }

 private:
  std::variant<std::monostate, Tensor, std::shared_ptr<const Sequence>> state_;
};

}  // namespace tutti::ir
