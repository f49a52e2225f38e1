// Reference kernels compute in float or double; these two classes bring tensors of any numeric type in and out of that.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "ir/op_def.h"
#include "ir/tensor.h"

namespace tutti::ops {

// The elements of a tensor as an array of C (float or double); a copy only where the type differs. The tensor must
// outlive it.
template <class C>
class ComputeView {
 public:
  ComputeView() = default;
  explicit ComputeView(const ir::Tensor& tensor) : size_(tensor.size()) {
    if (tensor.dtype() == ir::kDTypeOf<C>) {
      data_ = tensor.data<C>().data();
      return;
    }
    held_.resize(static_cast<size_t>(size_));
    for (int64_t i = 0; i < size_; ++i) held_[static_cast<size_t>(i)] = load(tensor, i);
    data_ = held_.data();
  }
  ComputeView(ComputeView&&) noexcept = default;
  ComputeView& operator=(ComputeView&&) noexcept = default;
  ComputeView(const ComputeView&) = delete;
  ComputeView& operator=(const ComputeView&) = delete;

  const C* data() const { return data_; }
  int64_t size() const { return size_; }
  bool present() const { return data_ != nullptr || size_ > 0; }
  C operator[](int64_t i) const { return data_[i]; }

 private:
  static C load(const ir::Tensor& tensor, int64_t i) {
    if (tensor.dtype() == ir::DType::kFloat16)
      return static_cast<C>(half_to_float(tensor.data<Half>()[static_cast<size_t>(i)]));
    if (tensor.dtype() == ir::DType::kBFloat16)
      return static_cast<C>(bfloat16_to_float(tensor.data<BFloat16>()[static_cast<size_t>(i)]));
    return static_cast<C>(tensor.get_double(i));
  }
  std::vector<C> held_;
  const C* data_ = nullptr;
  int64_t size_ = 0;
};

// Room for the results of an output tensor as an array of C; store() rounds them into the tensor once at the end.
template <class C>
class ComputeBuffer {
 public:
  explicit ComputeBuffer(ir::Tensor* out) : out_(out) {
    if (out->dtype() == ir::kDTypeOf<C>) {
      data_ = out->mutable_data<C>().data();
      return;
    }
    held_.resize(static_cast<size_t>(out->size()));
    data_ = held_.data();
  }
  ComputeBuffer(ComputeBuffer&&) noexcept = default;
  ComputeBuffer(const ComputeBuffer&) = delete;
  ComputeBuffer& operator=(const ComputeBuffer&) = delete;

  C* data() { return data_; }
  int64_t size() const { return out_->size(); }
  void store() {
    if (held_.empty()) return;
    for (int64_t i = 0; i < out_->size(); ++i) save(i, held_[static_cast<size_t>(i)]);
  }

 private:
  void save(int64_t i, C value) {
    const auto at = static_cast<size_t>(i);
    if (out_->dtype() == ir::DType::kFloat16)
      out_->mutable_data<Half>()[at] = float_to_half(static_cast<float>(value));
    else if (out_->dtype() == ir::DType::kBFloat16)
      out_->mutable_data<BFloat16>()[at] = float_to_bfloat16(static_cast<float>(value));
    else
      out_->set_double(i, static_cast<double>(value));
  }
  ir::Tensor* out_;
  std::vector<C> held_;
  C* data_ = nullptr;
};

// Calls `body.template operator()<C>()` with float for float32 and the 16-bit floats, double for float64 and the
// integers.
template <class Body>
auto with_compute_type(ir::DType dtype, Body&& body) {
  const bool narrow = dtype == ir::DType::kFloat32 || dtype == ir::DType::kFloat16 || dtype == ir::DType::kBFloat16;
  return narrow ? body.template operator()<float>() : body.template operator()<double>();
}

}  // namespace tutti::ops
