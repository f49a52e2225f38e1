// GridSample: values of a picture or volume at positions that a grid gives (Jaderberg et al., "Spatial Transformer
// Networks", 2015).
#pragma once

#include <array>
#include <string_view>

#include "ir/op_def.h"

namespace tutti::ops {

enum class GridMode : uint8_t { kLinear, kNearest, kCubic };
inline constexpr std::array<std::string_view, 3> kGridModeNames{"linear", "nearest", "cubic"};
enum class GridPadding : uint8_t { kZeros, kBorder, kReflection };
inline constexpr std::array<std::string_view, 3> kGridPaddingNames{"zeros", "border", "reflection"};

struct GridSampleAttrs : ir::AttrsOf<GridSampleAttrs> {
  bool align_corners = false;
  GridMode mode = GridMode::kLinear;
  GridPadding padding_mode = GridPadding::kZeros;
  void fields(ir::FieldVisitor& v) {
    v.field("align_corners", align_corners);
    v.choice("mode", mode, kGridModeNames);
    v.choice("padding_mode", padding_mode, kGridPaddingNames);
  }
};

// X [N,C,spatial...], grid [N,out...,r] with positions in [-1,1], the last spatial axis first.
extern const ir::OpDef kGridSample;

}  // namespace tutti::ops
