#include "ir/dtype.h"

#include <array>

namespace tutti::ir {
namespace {

struct Row {
  std::string_view name;
  int bits;
};
constexpr std::array<Row, kDTypeCount> kRows{{
    {"undefined", 0},      {"float32", 32},  {"uint8", 8},        {"int8", 8},           {"uint16", 16},
    {"int16", 16},         {"int32", 32},    {"int64", 64},       {"string", 0},         {"bool", 8},
    {"float16", 16},       {"float64", 64},  {"uint32", 32},      {"uint64", 64},        {"complex64", 64},
    {"complex128", 128},   {"bfloat16", 16}, {"float8e4m3fn", 8}, {"float8e4m3fnuz", 8}, {"float8e5m2", 8},
    {"float8e5m2fnuz", 8}, {"uint4", 4},     {"int4", 4},         {"float4e2m1", 4},     {"float8e8m0", 8},
    {"uint2", 2},          {"int2", 2},
}};

}  // namespace

std::string_view dtype_name(DType dtype) { return kRows[static_cast<size_t>(dtype)].name; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (kRows[static_cast<size_t>(i)].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

int dtype_bits(DType dtype) { return kRows[static_cast<size_t>(dtype)].bits; }

bool is_floating(DType d) {
  return is_compute_float(d) || (d >= DType::kFloat8E4M3FN && d <= DType::kFloat8E5M2FNUZ) || d == DType::kFloat4E2M1 ||
         d == DType::kFloat8E8M0;
}

bool is_signed_integer(DType d) {
  return d == DType::kInt8 || d == DType::kInt16 || d == DType::kInt32 || d == DType::kInt64 || d == DType::kInt4 ||
         d == DType::kInt2;
}

bool is_integer(DType d) {
  return is_signed_integer(d) || d == DType::kUInt8 || d == DType::kUInt16 || d == DType::kUInt32 ||
         d == DType::kUInt64 || d == DType::kUInt4 || d == DType::kUInt2;
}

bool is_complex(DType d) { return d == DType::kComplex64 || d == DType::kComplex128; }

}  // namespace tutti::ir
