// Scales and zero points as kernels read them at run time, and requantisation as the reference defines it.
#pragma once

#include <cmath>
#include <cstring>

#include "backends/cpu/kernels/common.h"

namespace tutti::cpu {

inline bool is_quant8(DType type) { return type == DType::kInt8 || type == DType::kUInt8; }

// A zero point of int8, uint8 or int32; 0 when `data` is null.
struct ZeroView {
  const void* data = nullptr;
  DType type = DType::kUInt8;

  int32_t operator[](int64_t i) const {
    if (data == nullptr) return 0;
    if (type == DType::kInt8) return static_cast<const int8_t*>(data)[i];
    if (type == DType::kInt32) return static_cast<const int32_t*>(data)[i];
    return static_cast<const uint8_t*>(data)[i];
  }
};
inline ZeroView zero_view(const RunContext& context, size_t i, DType type) { return {input<void>(context, i), type}; }

// How a parameter (a scale or a zero point) of `size` elements follows lines that repeat every `period`: one for all,
// one per line of the period, or one per line.
struct LineIndex {
  int64_t size = 1, period = 1;
  int64_t operator()(int64_t line) const { return size == 1 ? 0 : size == period ? line % period : line; }
};

// round_to_even(value) + zero in 8 bits; NaN gives the zero point.
inline int32_t requantized(double value, int32_t zero, bool is_signed) {
  constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52: adding it leaves no room for a fraction
  const double bounded = value > 1e6 ? 1e6 : value < -1e6 ? -1e6 : value == value ? value : 0;
  const double rounded = (bounded + kRound) - kRound;
  const auto shifted = static_cast<int32_t>(rounded) + zero;
  return is_signed ? std::clamp(shifted, -128, 127) : std::clamp(shifted, 0, 255);
}

}  // namespace tutti::cpu
