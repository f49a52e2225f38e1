// Quantised operators: QuantizeLinear and its relatives, integer matrix products and convolutions, and com.microsoft's
// QLinear family.
#pragma once

#include "ir/op_def.h"
#include "ops/window.h"

namespace tutti::ops {

struct QuantizeLinearAttrs : ir::AttrsOf<QuantizeLinearAttrs> {
  int64_t axis = 1;
  int64_t block_size = 0;  // 0: not blocked, or as the shapes say
  ir::DType output_dtype = ir::DType::kUndefined;
  ir::DType precision = ir::DType::kUndefined;  // of the division; the scale's type by default
  bool saturate = true;                         // float8 only
  void fields(ir::FieldVisitor& v) {
    v.field("axis", axis);
    v.field("block_size", block_size);
    v.field("output_dtype", output_dtype);
    v.field("precision", precision);
    v.field("saturate", saturate);
  }
};

struct DequantizeLinearAttrs : ir::AttrsOf<DequantizeLinearAttrs> {
  int64_t axis = 1;
  int64_t block_size = 0;
  ir::DType output_dtype = ir::DType::kUndefined;  // the scale's type by default
  void fields(ir::FieldVisitor& v) {
    v.field("axis", axis);
    v.field("block_size", block_size);
    v.field("output_dtype", output_dtype);
  }
};

struct QLinearLeakyReluAttrs : ir::AttrsOf<QLinearLeakyReluAttrs> {
  float alpha = 0.01f;
  void fields(ir::FieldVisitor& v) { v.field("alpha", alpha); }
};

struct QLinearSoftmaxAttrs : ir::AttrsOf<QLinearSoftmaxAttrs> {
  int64_t axis = -1;
  int64_t opset = 13;  // below 13 the input is flattened to a matrix at `axis`
  void fields(ir::FieldVisitor& v) {
    v.field("axis", axis);
    v.field("opset", opset);
  }
};

struct QLinearGlobalPoolAttrs : ir::AttrsOf<QLinearGlobalPoolAttrs> {
  bool channels_last = false;
  void fields(ir::FieldVisitor& v) { v.field("channels_last", channels_last); }
};

struct QLinearAveragePoolAttrs : ir::AttrsOf<QLinearAveragePoolAttrs>, WindowAttrs {
  bool ceil_mode = false, channels_last = false, count_include_pad = false;
  void fields(ir::FieldVisitor& v) {
    window_fields(v);
    v.field("ceil_mode", ceil_mode);
    v.field("channels_last", channels_last);
    v.field("count_include_pad", count_include_pad);
  }
};

struct QLinearConcatAttrs : ir::AttrsOf<QLinearConcatAttrs> {
  int64_t axis = 0;
  void fields(ir::FieldVisitor& v) { v.field("axis", axis); }
};

extern const ir::OpDef kQuantizeLinear, kDequantizeLinear, kDynamicQuantizeLinear;
extern const ir::OpDef kMatMulInteger, kQLinearMatMul, kMatMulIntegerToFloat, kDynamicQuantizeMatMul;
extern const ir::OpDef kConvInteger, kQLinearConv;  // attributes: ConvAttrs (ops/conv.h)
extern const ir::OpDef kQLinearAdd, kQLinearMul, kQLinearSigmoid, kQLinearLeakyRelu, kQLinearSoftmax;
extern const ir::OpDef kQLinearGlobalAveragePool, kQLinearAveragePool, kQLinearConcat;

}  // namespace tutti::ops
