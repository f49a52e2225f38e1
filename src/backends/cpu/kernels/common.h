// What the CPU kernels share: kernels from lambdas, splitting by cost, and refusals.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <optional>
#include <utility>

#include "backend/backend.h"
#include "backend/kernel.h"
#include "ir/attr_access.h"
#include "ir/shape.h"

namespace tutti::cpu {

using backend::Kernel;
using backend::KernelDef;
using backend::KernelQuery;
using backend::PrepareContext;
using backend::Refusal;
using backend::RunContext;
using backend::TensorDesc;
using ir::Dims;
using ir::DType;

// A kernel whose run() is a callable `Status (const RunContext&)`; what it captured is its prepared state.
template <class F>
class LambdaKernel final : public Kernel {
 public:
  LambdaKernel(F run, size_t workspace) : run_(std::move(run)), workspace_(workspace) {}
  Status run(const RunContext& context) const override { return run_(context); }
  size_t workspace_bytes() const override { return workspace_; }

 private:
  F run_;
  size_t workspace_;
};

template <class F>
Result<std::unique_ptr<Kernel>> make_kernel(F run, size_t workspace_bytes = 0) {
  return std::unique_ptr<Kernel>(new LambdaKernel<F>(std::move(run), workspace_bytes));
}

// How many of `count` items make a range: equal ranges that cost about 6 us each, so that threads end at about the same
// time; at most 256 of them, and one when all of it costs less than waking another thread repays.
inline int64_t range_length(int64_t count, double nanoseconds_each) {
  const double total = static_cast<double>(count) * nanoseconds_each;
  if (total < 12000) return std::max<int64_t>(count, 1);
  const int64_t ranges = std::min<int64_t>(count, total >= 256 * 6000.0 ? 256 : static_cast<int64_t>(total / 6000));
  return (count + ranges - 1) / ranges;
}

// Runs body(begin, end) over [0, count) in ranges of range_length: begin / length numbers them. The borders depend on
// count and cost alone.
inline void split(ThreadPool& threads, int64_t count, double nanoseconds_each,
                  FunctionRef<void(int64_t, int64_t)> body) {
  if (count <= 0) return;
  const int64_t length = range_length(count, nanoseconds_each);
  if (length >= count) return body(0, count);
  threads.parallel_ranges(count, length, body);
}

template <class T>
const T* input(const RunContext& context, size_t i) {
  return i < context.inputs.size() ? static_cast<const T*>(context.inputs[i]) : nullptr;
}
template <class T>
T* output(const RunContext& context, size_t i) {
  return i < context.outputs.size() ? static_cast<T*>(context.outputs[i]) : nullptr;
}

// Why the inputs (those present) are not all float32, or nothing.
inline std::optional<Refusal> refuse_unless_float(const KernelQuery& query) {
  for (const TensorDesc& in : query.inputs)
    if (in.present() && in.dtype != DType::kFloat32)
      return Refusal("takes float32 only, found ") + std::string(ir::dtype_name(in.dtype));
  return std::nullopt;
}

inline bool wants_output(const KernelQuery& query, size_t i) {
  return i < query.outputs.size() && query.outputs[i].present();
}

// Product of dims[begin, end).
inline int64_t product(const Dims& dims, size_t begin, size_t end) {
  int64_t p = 1;
  for (size_t i = begin; i < end; ++i) p *= dims[i];
  return p;
}
inline int64_t product(const Dims& dims) { return product(dims, 0, dims.size()); }

inline size_t element_bytes(DType dtype) { return static_cast<size_t>(ir::dtype_bits(dtype)) / 8; }

// Types whose elements are whole bytes, so that they can be moved without knowing what they mean.
inline bool is_byte_type(DType dtype) { return ir::dtype_bits(dtype) >= 8; }

// The elements around one axis: element (o, k, i) is at (o * length + k) * inner + i.
struct AxisView {
  int64_t outer = 1, length = 1, inner = 1;
};
inline AxisView axis_view(const Dims& dims, size_t axis) {
  return {product(dims, 0, axis), dims[axis], product(dims, axis + 1, dims.size())};
}

// `axis` in [-rank, rank) made non-negative; it was checked by the shape rule.
inline size_t positive_axis(int64_t axis, size_t rank) {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

}  // namespace tutti::cpu
