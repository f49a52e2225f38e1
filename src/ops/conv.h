// Convolutions: Conv, ConvTranspose, DeformConv, and com.microsoft FusedConv.
#pragma once

#include <string>

#include "ir/op_def.h"
#include "ops/window.h"

namespace tutti::ops {

struct ConvAttrs : ir::AttrsOf<ConvAttrs>, WindowAttrs {
  int64_t group = 1;
  void fields(ir::FieldVisitor& v) {
    window_fields(v);
    v.field("group", group);
  }
};

// Conv with an activation by its ONNX name ("Relu", "Clip", ...; "" for none), whose parameters are as com.microsoft
// has them.
struct ContribFusedConvAttrs : ir::AttrsOf<ContribFusedConvAttrs>, WindowAttrs {
  int64_t group = 1;
  std::string activation;
  std::vector<float> activation_params;
  void fields(ir::FieldVisitor& v) {
    window_fields(v);
    v.field("group", group);
    v.field("activation", activation);
    v.field("activation_params", activation_params);
  }
};

struct ConvTransposeAttrs : ir::AttrsOf<ConvTransposeAttrs>, WindowAttrs {
  int64_t group = 1;
  std::vector<int64_t> output_padding, output_shape;
  void fields(ir::FieldVisitor& v) {
    window_fields(v);
    v.field("group", group);
    v.field("output_padding", output_padding);
    v.field("output_shape", output_shape);
  }
};

struct DeformConvAttrs : ir::AttrsOf<DeformConvAttrs> {
  std::vector<int64_t> dilations, kernel_shape, pads, strides;
  int64_t group = 1, offset_group = 1;
  void fields(ir::FieldVisitor& v) {
    v.field("dilations", dilations);
    v.field("kernel_shape", kernel_shape);
    v.field("pads", pads);
    v.field("strides", strides);
    v.field("group", group);
    v.field("offset_group", offset_group);
  }
};

extern const ir::OpDef kConv;
extern const ir::OpDef kContribFusedConv;  // "FusedConv" of com.microsoft: act(conv(X, W) + B + Z)
extern const ir::OpDef kConvTranspose;
extern const ir::OpDef kDeformConv;

// The shape rule of Conv for inputs X, W, B at 0, 1, 2. Nothing when X's rank is unknown. Shared by the integer
// convolutions.
Result<std::optional<ir::Shape>> infer_conv_shape(ir::InferContext& context, const WindowAttrs& window, int64_t group,
                                                  int weight_input = 1);

// A convolution at concrete shapes, checked: every kernel starts from it.
struct ConvPlan {
  std::vector<WindowPlan> axes;
  int64_t batch = 0, channels = 0, filters = 0, group = 1;  // channels and filters of all groups
  ir::Dims out_dims;
};
Result<ConvPlan> plan_conv(const WindowAttrs& window, int64_t group, const ir::Dims& x, const ir::Dims& w);

}  // namespace tutti::ops
