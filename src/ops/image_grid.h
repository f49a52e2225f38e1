// Sampling grids and images from blocks: AffineGrid and Col2Im.
#pragma once

#include "ir/op_def.h"

namespace tutti::ops {

struct AffineGridAttrs : ir::AttrsOf<AffineGridAttrs> {
  bool align_corners = false;
  void fields(ir::FieldVisitor& v) { v.field("align_corners", align_corners); }
};

struct Col2ImAttrs : ir::AttrsOf<Col2ImAttrs> {
  std::vector<int64_t> dilations, pads, strides;
  void fields(ir::FieldVisitor& v) {
    v.field("dilations", dilations);
    v.field("pads", pads);
    v.field("strides", strides);
  }
};

extern const ir::OpDef kAffineGrid;  // theta [N, n, n+1], size (N, C, spatial...) -> grid [N, spatial..., n]
extern const ir::OpDef kCol2Im;      // input [N, C * block, L], image_shape, block_shape -> [N, C, image...]

}  // namespace tutti::ops
