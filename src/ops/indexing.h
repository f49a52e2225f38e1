// Operators that read or write elements at computed places, and those that make tensors from a few numbers.
#pragma once

#include <array>

#include "ir/op_def.h"

namespace tutti::ops {

struct GatherAttrs : ir::AttrsOf<GatherAttrs> {
  int64_t axis = 0;
  void fields(ir::FieldVisitor& v) { v.field("axis", axis); }
};
struct GatherNDAttrs : ir::AttrsOf<GatherNDAttrs> {
  int64_t batch_dims = 0;
  void fields(ir::FieldVisitor& v) { v.field("batch_dims", batch_dims); }
};
enum class ScatterReduction { kNone, kAdd, kMul, kMin, kMax };
inline constexpr std::array<std::string_view, 5> kScatterReductions{"none", "add", "mul", "min", "max"};
struct ScatterElementsAttrs : ir::AttrsOf<ScatterElementsAttrs> {
  int64_t axis = 0;
  ScatterReduction reduction = ScatterReduction::kNone;
  void fields(ir::FieldVisitor& v) { v.field("axis", axis), v.choice("reduction", reduction, kScatterReductions); }
};
struct ScatterNDAttrs : ir::AttrsOf<ScatterNDAttrs> {
  ScatterReduction reduction = ScatterReduction::kNone;
  void fields(ir::FieldVisitor& v) { v.choice("reduction", reduction, kScatterReductions); }
};
enum class CacheMode { kLinear, kCircular };
struct TensorScatterAttrs : ir::AttrsOf<TensorScatterAttrs> {
  static constexpr std::array<std::string_view, 2> kModes{"linear", "circular"};
  int64_t axis = -2;
  CacheMode mode = CacheMode::kLinear;
  void fields(ir::FieldVisitor& v) { v.field("axis", axis), v.choice("mode", mode, kModes); }
};
struct OneHotAttrs : ir::AttrsOf<OneHotAttrs> {
  int64_t axis = -1;
  void fields(ir::FieldVisitor& v) { v.field("axis", axis); }
};
struct CompressAttrs : ir::AttrsOf<CompressAttrs> {
  std::optional<int64_t> axis;  // nothing: over the flattened input
  void fields(ir::FieldVisitor& v) { v.field("axis", axis); }
};
struct ReverseSequenceAttrs : ir::AttrsOf<ReverseSequenceAttrs> {
  int64_t batch_axis = 1, time_axis = 0;
  void fields(ir::FieldVisitor& v) { v.field("batch_axis", batch_axis), v.field("time_axis", time_axis); }
};
struct TriluAttrs : ir::AttrsOf<TriluAttrs> {
  bool upper = true;
  void fields(ir::FieldVisitor& v) { v.field("upper", upper); }
};
struct RangeAttrs : ir::AttrsOf<RangeAttrs> {
  int64_t stash_type = 1;
  void fields(ir::FieldVisitor& v) { v.field("stash_type", stash_type); }
};
struct EyeLikeAttrs : ir::AttrsOf<EyeLikeAttrs> {
  ir::DType dtype = ir::DType::kUndefined;  // undefined: the input's
  int64_t k = 0;
  void fields(ir::FieldVisitor& v) { v.field("dtype", dtype), v.field("k", k); }
};

extern const ir::OpDef kGather, kGatherElements, kGatherND;
// Scatter is the retired name of ScatterElements without a reduction.
extern const ir::OpDef kScatter, kScatterElements, kScatterND, kTensorScatter;
extern const ir::OpDef kCompress, kNonZero, kReverseSequence, kTrilu;
// ConstantOfShape(shape, value): the value is a scalar or one-element constant; absent means float32 zero.
extern const ir::OpDef kConstantOfShape, kEyeLike, kOneHot, kRange;

}  // namespace tutti::ops
