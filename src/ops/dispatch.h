// From a run-time element type to C++: the one place where reference kernels branch on types.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "base/half.h"
#include "ir/dtype.h"

namespace tutti::ops {

// The type that values of storage type T are computed in: 16-bit floats in float, everything else as it is.
template <class T>
using ComputeOf = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;

template <class T>
inline ComputeOf<T> load(T value) {
  if constexpr (std::is_same_v<T, Half>)
    return half_to_float(value);
  else if constexpr (std::is_same_v<T, BFloat16>)
    return bfloat16_to_float(value);
  else
    return value;
}

// Rounds a computed value to the storage type.
template <class T, class V>
inline T store(V value) {
  if constexpr (std::is_same_v<T, Half>)
    return float_to_half(static_cast<float>(value));
  else if constexpr (std::is_same_v<T, BFloat16>)
    return float_to_bfloat16(static_cast<float>(value));
  else
    return static_cast<T>(value);
}

namespace detail {
// Callables may return Status or nothing.
template <class T, class F>
Status call_typed(F& f) {
  if constexpr (std::is_void_v<decltype(f.template operator()<T>())>) {
    f.template operator()<T>();
    return ok_status();
  } else {
    return f.template operator()<T>();
  }
}
Status no_kernel_for(ir::DType dtype, std::string_view expected);
}  // namespace detail

// Calls `f.template operator()<T>()` with T = float, double, Half or BFloat16. An Unsupported error for other types.
template <class F>
Status dispatch_float(ir::DType dtype, F&& f) {
  switch (dtype) {
    case ir::DType::kFloat32: return detail::call_typed<float>(f);
    case ir::DType::kFloat64: return detail::call_typed<double>(f);
    case ir::DType::kFloat16: return detail::call_typed<Half>(f);
    case ir::DType::kBFloat16: return detail::call_typed<BFloat16>(f);
    default: return detail::no_kernel_for(dtype, "float32, float64, float16 or bfloat16");
  }
}

// T = [u]int{8,16,32,64}_t.
template <class F>
Status dispatch_integer(ir::DType dtype, F&& f) {
  switch (dtype) {
    case ir::DType::kInt8: return detail::call_typed<int8_t>(f);
    case ir::DType::kInt16: return detail::call_typed<int16_t>(f);
    case ir::DType::kInt32: return detail::call_typed<int32_t>(f);
    case ir::DType::kInt64: return detail::call_typed<int64_t>(f);
    case ir::DType::kUInt8: return detail::call_typed<uint8_t>(f);
    case ir::DType::kUInt16: return detail::call_typed<uint16_t>(f);
    case ir::DType::kUInt32: return detail::call_typed<uint32_t>(f);
    case ir::DType::kUInt64: return detail::call_typed<uint64_t>(f);
    default: return detail::no_kernel_for(dtype, "an integer type of 8 to 64 bits");
  }
}

// The union of dispatch_float and dispatch_integer. Instantiates `f` twelve times: keep its body small.
template <class F>
Status dispatch_numeric(ir::DType dtype, F&& f) {
  return ir::is_compute_float(dtype) ? dispatch_float(dtype, f) : dispatch_integer(dtype, f);
}

// Calls `f.template operator()<C>()` with C the widest type of the element's kind: double for every float format,
// int64_t for signed and uint64_t for unsigned integers and bool. Use with load_block/store_block (ops/elements.h);
// instantiates `f` three times only.
template <class F>
Status dispatch_wide(ir::DType dtype, F&& f) {
  if (ir::is_floating(dtype)) return detail::call_typed<double>(f);
  if (ir::is_signed_integer(dtype)) return detail::call_typed<int64_t>(f);
  if (ir::is_integer(dtype) || dtype == ir::DType::kBool) return detail::call_typed<uint64_t>(f);
  return detail::no_kernel_for(dtype, "a number or bool");
}

}  // namespace tutti::ops
