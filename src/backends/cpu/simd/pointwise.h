// Element by element operations on float32 runs, for one thread.
#pragma once

#include <cstdint>

#include "ops/fused.h"

namespace tutti::cpu::simd {

enum class Unary : uint8_t {
  kActivation,
  kErf,
  kExp,
  kSqrt,
  kReciprocal,
  kNeg,
  kAbs,
  kFloor,
  kCeil,
  kRound,
  kSquare,
};
struct UnaryCall {
  Unary op = Unary::kActivation;
  ops::Activation activation = ops::Activation::kNone;  // for kActivation
  float alpha = 0, beta = 0;
};
// src and dst may be the same.
void unary(const UnaryCall& call, const float* src, float* dst, int64_t count);

enum class Binary : uint8_t { kAdd, kSub, kMul, kDiv, kMax, kMin };
// An operand that is a run of `count` floats, or one float for all.
struct Operand {
  const float* data = nullptr;
  bool single = false;
};
void binary(Binary op, Operand a, Operand b, float* dst, int64_t count);

}  // namespace tutti::cpu::simd
