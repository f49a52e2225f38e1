// Operators that move elements without computing on them.
#pragma once

#include <array>

#include "ir/op_def.h"

namespace tutti::ops {

struct ReshapeAttrs : ir::AttrsOf<ReshapeAttrs> {
  bool allowzero = false;  // a 0 in the shape means 0, not "as in the input"
  void fields(ir::FieldVisitor& v) { v.field("allowzero", allowzero); }
};
struct FlattenAttrs : ir::AttrsOf<FlattenAttrs> {
  int64_t axis = 1;
  void fields(ir::FieldVisitor& v) { v.field("axis", axis); }
};
struct ShapeAttrs : ir::AttrsOf<ShapeAttrs> {
  int64_t start = 0;
  std::optional<int64_t> end;
  void fields(ir::FieldVisitor& v) { v.field("start", start), v.field("end", end); }
};
struct TransposeAttrs : ir::AttrsOf<TransposeAttrs> {
  std::vector<int64_t> perm;  // empty: all axes reversed
  void fields(ir::FieldVisitor& v) { v.field("perm", perm); }
};
struct ConcatAttrs : ir::AttrsOf<ConcatAttrs> {
  int64_t axis = 0;
  void fields(ir::FieldVisitor& v) { v.field("axis", axis); }
};
struct SplitAttrs : ir::AttrsOf<SplitAttrs> {
  int64_t axis = 0;
  std::optional<int64_t> num_outputs;
  void fields(ir::FieldVisitor& v) { v.field("axis", axis), v.field("num_outputs", num_outputs); }
};
enum class PadMode { kConstant, kReflect, kEdge, kWrap };
struct PadAttrs : ir::AttrsOf<PadAttrs> {
  static constexpr std::array<std::string_view, 4> kModes{"constant", "reflect", "edge", "wrap"};
  PadMode mode = PadMode::kConstant;
  void fields(ir::FieldVisitor& v) { v.choice("mode", mode, kModes); }
};
// Where position `i` of an axis of `dim` elements (`i` may lie outside) reads from; -1 for the constant.
int64_t pad_source(int64_t i, int64_t dim, PadMode mode);
struct CenterCropPadAttrs : ir::AttrsOf<CenterCropPadAttrs> {
  std::vector<int64_t> axes;  // empty: all
  void fields(ir::FieldVisitor& v) { v.field("axes", axes); }
};
enum class DepthOrder { kDCR, kCRD };
struct DepthToSpaceAttrs : ir::AttrsOf<DepthToSpaceAttrs> {
  static constexpr std::array<std::string_view, 2> kOrders{"DCR", "CRD"};
  int64_t blocksize = 1;
  DepthOrder mode = DepthOrder::kDCR;
  void fields(ir::FieldVisitor& v) { v.field("blocksize", blocksize), v.choice("mode", mode, kOrders); }
};
struct SpaceToDepthAttrs : ir::AttrsOf<SpaceToDepthAttrs> {
  int64_t blocksize = 1;
  void fields(ir::FieldVisitor& v) { v.field("blocksize", blocksize); }
};

// Inputs as in ONNX: Reshape(data, shape), Squeeze(data, axes?), Unsqueeze(data, axes), Expand(data, shape), Tile(data,
// repeats), Slice(data, starts, ends, axes?, steps?), Split(data, split?), Pad(data, pads, value?, axes?),
// CenterCropPad(data, shape).
extern const ir::OpDef kReshape, kSqueeze, kUnsqueeze, kFlatten, kShape, kSize;
extern const ir::OpDef kExpand, kTile, kTranspose, kSlice, kSplit, kConcat, kPad, kCenterCropPad, kDepthToSpace,
    kSpaceToDepth;

}  // namespace tutti::ops
