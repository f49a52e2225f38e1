// Matrix products: MatMul, Gemm, and the contrib forms FusedMatMul and MatMulNBits.
#pragma once

#include "ir/op_def.h"

namespace tutti::ops {

struct GemmAttrs : ir::AttrsOf<GemmAttrs> {
  float alpha = 1, beta = 1;
  bool transA = false, transB = false;
  void fields(ir::FieldVisitor& v) {
    v.field("alpha", alpha);
    v.field("beta", beta);
    v.field("transA", transA);
    v.field("transB", transB);
  }
};

struct FusedMatMulAttrs : ir::AttrsOf<FusedMatMulAttrs> {
  float alpha = 1;
  bool transA = false, transB = false, transBatchA = false, transBatchB = false;
  void fields(ir::FieldVisitor& v) {
    v.field("alpha", alpha);
    v.field("transA", transA);
    v.field("transB", transB);
    v.field("transBatchA", transBatchA);
    v.field("transBatchB", transBatchB);
  }
};

// Weights of `bits` bits in blocks of `block_size` along K, each with a scale and a zero point.
struct MatMulNBitsAttrs : ir::AttrsOf<MatMulNBitsAttrs> {
  int64_t K = 0, N = 0, accuracy_level = 0, bits = 4, block_size = 32;
  void fields(ir::FieldVisitor& v) {
    v.field("K", K);
    v.field("N", N);
    v.field("accuracy_level", accuracy_level);
    v.field("bits", bits);
    v.field("block_size", block_size);
  }
};

extern const ir::OpDef kMatMul;       // numpy.matmul
extern const ir::OpDef kGemm;         // alpha * A' * B' + beta * C
extern const ir::OpDef kFusedMatMul;  // MatMul with transposed operands and a factor
extern const ir::OpDef kMatMulNBits;  // A * dequantized(B)^T

// The result shape of numpy.matmul, for shape rules and kernels.
Result<ir::Shape> matmul_shape(const ir::Shape& a, const ir::Shape& b);

}  // namespace tutti::ops
