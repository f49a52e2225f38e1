// Operators whose output element depends on the matching elements of broadcast inputs only.
#pragma once

#include <array>

#include "ir/op_def.h"

namespace tutti::ops {

struct EluAttrs : ir::AttrsOf<EluAttrs> {
  float alpha = 1.0f;
  void fields(ir::FieldVisitor& v) { v.field("alpha", alpha); }
};
struct CeluAttrs : ir::AttrsOf<CeluAttrs> {
  float alpha = 1.0f;
  void fields(ir::FieldVisitor& v) { v.field("alpha", alpha); }
};
struct LeakyReluAttrs : ir::AttrsOf<LeakyReluAttrs> {
  float alpha = 0.01f;
  void fields(ir::FieldVisitor& v) { v.field("alpha", alpha); }
};
struct ThresholdedReluAttrs : ir::AttrsOf<ThresholdedReluAttrs> {
  float alpha = 1.0f;
  void fields(ir::FieldVisitor& v) { v.field("alpha", alpha); }
};
struct SwishAttrs : ir::AttrsOf<SwishAttrs> {
  float alpha = 1.0f;
  void fields(ir::FieldVisitor& v) { v.field("alpha", alpha); }
};
struct QuickGeluAttrs : ir::AttrsOf<QuickGeluAttrs> {
  float alpha = 1.702f;
  void fields(ir::FieldVisitor& v) { v.field("alpha", alpha); }
};
struct SeluAttrs : ir::AttrsOf<SeluAttrs> {
  float alpha = 1.67326319217681884765625f, gamma = 1.05070102214813232421875f;
  void fields(ir::FieldVisitor& v) { v.field("alpha", alpha), v.field("gamma", gamma); }
};
struct HardSigmoidAttrs : ir::AttrsOf<HardSigmoidAttrs> {
  float alpha = 0.2f, beta = 0.5f;
  void fields(ir::FieldVisitor& v) { v.field("alpha", alpha), v.field("beta", beta); }
};
struct ShrinkAttrs : ir::AttrsOf<ShrinkAttrs> {
  float bias = 0.0f, lambd = 0.5f;
  void fields(ir::FieldVisitor& v) { v.field("bias", bias), v.field("lambd", lambd); }
};
enum class GeluForm { kNone, kTanh };
struct GeluAttrs : ir::AttrsOf<GeluAttrs> {
  static constexpr std::array<std::string_view, 2> kForms{"none", "tanh"};
  GeluForm approximate = GeluForm::kNone;
  void fields(ir::FieldVisitor& v) { v.choice("approximate", approximate, kForms); }
};
struct IsInfAttrs : ir::AttrsOf<IsInfAttrs> {
  bool detect_negative = true, detect_positive = true;
  void fields(ir::FieldVisitor& v) {
    v.field("detect_negative", detect_negative), v.field("detect_positive", detect_positive);
  }
};
enum class ShiftDirection { kLeft, kRight };
struct BitShiftAttrs : ir::AttrsOf<BitShiftAttrs> {
  static constexpr std::array<std::string_view, 2> kDirections{"LEFT", "RIGHT"};
  ShiftDirection direction = ShiftDirection::kLeft;
  void fields(ir::FieldVisitor& v) { v.choice("direction", direction, kDirections); }
};
struct ModAttrs : ir::AttrsOf<ModAttrs> {
  bool fmod = false;  // the result has the dividend's sign instead of the divisor's
  void fields(ir::FieldVisitor& v) { v.field("fmod", fmod); }
};
// One input.
extern const ir::OpDef kAbs, kAcos, kAcosh, kAsin, kAsinh, kAtan, kAtanh, kBitwiseNot, kCeil, kCelu, kCos, kCosh, kElu,
    kErf, kExp, kFloor, kGelu, kHardSigmoid, kHardSwish, kIsInf, kIsNaN, kLeakyRelu, kLog, kMish, kNeg, kNot,
    kReciprocal, kRelu, kRound, kSelu, kShrink, kSigmoid, kSign, kSin, kSinh, kSoftplus, kSoftsign, kSqrt, kSwish, kTan,
    kTanh, kThresholdedRelu;
// Two inputs.
extern const ir::OpDef kAdd, kAnd, kBitShift, kBitwiseAnd, kBitwiseOr, kBitwiseXor, kDiv, kEqual, kGreater,
    kGreaterOrEqual, kLess, kLessOrEqual, kMod, kMul, kOr, kPow, kPRelu, kSub, kXor;
// Several inputs.
extern const ir::OpDef kClip, kMax, kMean, kMin, kSum, kWhere;
// Passes the value on.
extern const ir::OpDef kIdentity;
// com.microsoft: (X, bias?) and X * sigmoid(alpha * X).
extern const ir::OpDef kBiasGelu, kFastGelu, kQuickGelu;

}  // namespace tutti::ops
