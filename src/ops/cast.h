// Conversions between element types.
#pragma once

#include <array>

#include "ir/op_def.h"

namespace tutti::ops {

enum class CastRound { kUp, kDown, kNearest };
// `saturate` and `round_mode` matter for small floats only.
struct CastAttrs : ir::AttrsOf<CastAttrs> {
  static constexpr std::array<std::string_view, 3> kRounds{"up", "down", "nearest"};
  ir::DType to = ir::DType::kUndefined;
  bool saturate = true;
  CastRound round_mode = CastRound::kUp;
  void fields(ir::FieldVisitor& v) {
    v.field("to", to), v.field("saturate", saturate), v.choice("round_mode", round_mode, kRounds);
  }
};
struct CastLikeAttrs : ir::AttrsOf<CastLikeAttrs> {
  bool saturate = true;
  CastRound round_mode = CastRound::kUp;
  void fields(ir::FieldVisitor& v) {
    v.field("saturate", saturate), v.choice("round_mode", round_mode, CastAttrs::kRounds);
  }
};
struct BitCastAttrs : ir::AttrsOf<BitCastAttrs> {
  ir::DType to = ir::DType::kUndefined;
  void fields(ir::FieldVisitor& v) { v.field("to", to); }
};

extern const ir::OpDef kCast, kCastLike, kBitCast;

// `in` converted to `out`'s type; equal dims. Strings that are not numbers are an InvalidInput error. Integer targets:
// floats truncate toward zero, integers keep their low bits.
Status cast_tensor(const ir::Tensor& in, ir::Tensor& out, const CastAttrs& attrs);

}  // namespace tutti::ops
