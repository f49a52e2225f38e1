// Signal processing: DFT, STFT, window functions, MelWeightMatrix.
#pragma once

#include "ir/op_def.h"

namespace tutti::ops {

struct DftAttrs : ir::AttrsOf<DftAttrs> {
  bool inverse = false, onesided = false;
  void fields(ir::FieldVisitor& v) {
    v.field("inverse", inverse);
    v.field("onesided", onesided);
  }
};

struct StftAttrs : ir::AttrsOf<StftAttrs> {
  bool onesided = true;
  void fields(ir::FieldVisitor& v) { v.field("onesided", onesided); }
};

struct WindowFunctionAttrs : ir::AttrsOf<WindowFunctionAttrs> {
  ir::DType output_datatype = ir::DType::kFloat32;
  bool periodic = true;
  void fields(ir::FieldVisitor& v) {
    v.field("output_datatype", output_datatype);
    v.field("periodic", periodic);
  }
};

struct MelWeightMatrixAttrs : ir::AttrsOf<MelWeightMatrixAttrs> {
  ir::DType output_datatype = ir::DType::kFloat32;
  void fields(ir::FieldVisitor& v) { v.field("output_datatype", output_datatype); }
};

extern const ir::OpDef kDFT, kSTFT, kHannWindow, kHammingWindow, kBlackmanWindow, kMelWeightMatrix;

}  // namespace tutti::ops
