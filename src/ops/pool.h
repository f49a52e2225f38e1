// Poolings over windows and over all positions.
#pragma once

#include "ir/op_def.h"
#include "ops/window.h"

namespace tutti::ops {

struct MaxPoolAttrs : ir::AttrsOf<MaxPoolAttrs>, WindowAttrs {
  bool ceil_mode = false;
  int64_t storage_order = 0;  // of the indices: 0 row-major, 1 column-major
  void fields(ir::FieldVisitor& v) {
    window_fields(v);
    v.field("ceil_mode", ceil_mode);
    v.field("storage_order", storage_order);
  }
};

struct AveragePoolAttrs : ir::AttrsOf<AveragePoolAttrs>, WindowAttrs {
  bool ceil_mode = false, count_include_pad = false;
  void fields(ir::FieldVisitor& v) {
    window_fields(v);
    v.field("ceil_mode", ceil_mode);
    v.field("count_include_pad", count_include_pad);
  }
};

struct LpPoolAttrs : ir::AttrsOf<LpPoolAttrs>, WindowAttrs {
  bool ceil_mode = false;
  int64_t p = 2;
  void fields(ir::FieldVisitor& v) {
    window_fields(v);
    v.field("ceil_mode", ceil_mode);
    v.field("p", p);
  }
};

struct GlobalLpPoolAttrs : ir::AttrsOf<GlobalLpPoolAttrs> {
  int64_t p = 2;
  void fields(ir::FieldVisitor& v) { v.field("p", p); }
};

struct MaxUnpoolAttrs : ir::AttrsOf<MaxUnpoolAttrs> {
  std::vector<int64_t> kernel_shape, pads, strides;
  void fields(ir::FieldVisitor& v) {
    v.field("kernel_shape", kernel_shape);
    v.field("pads", pads);
    v.field("strides", strides);
  }
};

struct MaxRoiPoolAttrs : ir::AttrsOf<MaxRoiPoolAttrs> {
  std::vector<int64_t> pooled_shape;
  float spatial_scale = 1;
  void fields(ir::FieldVisitor& v) {
    v.field("pooled_shape", pooled_shape);
    v.field("spatial_scale", spatial_scale);
  }
};

enum class RoiCoordinates : uint8_t { kHalfPixel, kOutputHalfPixel };
inline constexpr std::array<std::string_view, 2> kRoiCoordinatesNames{"half_pixel", "output_half_pixel"};
enum class RoiMode : uint8_t { kAverage, kMax };
inline constexpr std::array<std::string_view, 2> kRoiModeNames{"avg", "max"};

struct RoiAlignAttrs : ir::AttrsOf<RoiAlignAttrs> {
  RoiCoordinates coordinate_transformation_mode = RoiCoordinates::kHalfPixel;
  RoiMode mode = RoiMode::kAverage;
  int64_t output_height = 1, output_width = 1, sampling_ratio = 0;
  float spatial_scale = 1;
  void fields(ir::FieldVisitor& v) {
    v.choice("coordinate_transformation_mode", coordinate_transformation_mode, kRoiCoordinatesNames);
    v.choice("mode", mode, kRoiModeNames);
    v.field("output_height", output_height);
    v.field("output_width", output_width);
    v.field("sampling_ratio", sampling_ratio);
    v.field("spatial_scale", spatial_scale);
  }
};

extern const ir::OpDef kMaxPool;  // outputs Y, Indices?
extern const ir::OpDef kAveragePool;
extern const ir::OpDef kLpPool;
extern const ir::OpDef kGlobalAveragePool;
extern const ir::OpDef kGlobalMaxPool;
extern const ir::OpDef kGlobalLpPool;
extern const ir::OpDef kMaxUnpool;
extern const ir::OpDef kMaxRoiPool;
extern const ir::OpDef kRoiAlign;

// The output shape of a pooling of `x` [batch, channels, spatial...]; nothing when the rank is unknown.
Result<std::optional<ir::Shape>> pooled_shape(const std::optional<ir::Shape>& x, const WindowAttrs& window, bool ceil);

}  // namespace tutti::ops
