// Element types of tensors. The numbers are those of ONNX TensorProto.DataType, so that files need no table.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/half.h"

namespace tutti::ir {

enum class DType : uint8_t {
  kUndefined = 0,
  kFloat32 = 1,
  kUInt8 = 2,
  kInt8 = 3,
  kUInt16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kFloat64 = 11,
  kUInt32 = 12,
  kUInt64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBFloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUInt4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUInt2 = 25,
  kInt2 = 26,
};
inline constexpr int kDTypeCount = 27;

// "float32", "int64", "float8e4m3fn", ...
std::string_view dtype_name(DType dtype);
std::optional<DType> parse_dtype(std::string_view name);

// Bits of one element in memory (4 and 2 bit types are packed, low bits first); 0 for undefined and string.
int dtype_bits(DType dtype);

bool is_floating(DType dtype);  // every float format, the small ones included
bool is_integer(DType dtype);   // signed and unsigned, bool not included
bool is_signed_integer(DType dtype);
bool is_complex(DType dtype);
// float64, float32, float16 and bfloat16: the types that arithmetic is defined on.
inline bool is_compute_float(DType d) {
  return d == DType::kFloat32 || d == DType::kFloat64 || d == DType::kFloat16 || d == DType::kBFloat16;
}

// The DType of a C++ element type: float, double, Half, BFloat16, [u]int{8,16,32,64}_t, bool.
template <class T>
inline constexpr DType kDTypeOf = DType::kUndefined;
template <>
inline constexpr DType kDTypeOf<float> = DType::kFloat32;
template <>
inline constexpr DType kDTypeOf<double> = DType::kFloat64;
template <>
inline constexpr DType kDTypeOf<Half> = DType::kFloat16;
template <>
inline constexpr DType kDTypeOf<BFloat16> = DType::kBFloat16;
template <>
inline constexpr DType kDTypeOf<int8_t> = DType::kInt8;
template <>
inline constexpr DType kDTypeOf<int16_t> = DType::kInt16;
template <>
inline constexpr DType kDTypeOf<int32_t> = DType::kInt32;
template <>
inline constexpr DType kDTypeOf<int64_t> = DType::kInt64;
template <>
inline constexpr DType kDTypeOf<uint8_t> = DType::kUInt8;
template <>
inline constexpr DType kDTypeOf<uint16_t> = DType::kUInt16;
template <>
inline constexpr DType kDTypeOf<uint32_t> = DType::kUInt32;
template <>
inline constexpr DType kDTypeOf<uint64_t> = DType::kUInt64;
template <>
inline constexpr DType kDTypeOf<bool> = DType::kBool;

}  // namespace tutti::ir
