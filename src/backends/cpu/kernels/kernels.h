// The CPU backend's own kernels, each defined in the file named for it. kernel_list.cpp says which operators they
// serve, in which order.
#pragma once

#include "backend/kernel.h"

namespace tutti::cpu {

using backend::KernelDef;

extern const KernelDef kAttentionKernel;                                     // attention.cpp
extern const KernelDef kPackedMatMul;                                        // matmul.cpp
extern const KernelDef kPackedConv;                                          // conv_packed.cpp
extern const KernelDef kDepthwiseConv;                                       // conv_depthwise.cpp
extern const KernelDef kWinogradConv;                                        // conv_winograd.cpp
extern const KernelDef kUnary, kClip, kFunction, kIsNan, kIsInf, kNot;       // unary.cpp
extern const KernelDef kBinary, kPlainBinary;                                // binary.cpp
extern const KernelDef kSoftmax, kRowNorm, kGroupNorm, kBatchNorm;           // norm.cpp
extern const KernelDef kReduce;                                              // reduce.cpp
extern const KernelDef kReduceAny;                                           // reduce_any.cpp
extern const KernelDef kArgReduce;                                           // arg_reduce.cpp
extern const KernelDef kTopK;                                                // top_k.cpp
extern const KernelDef kCumulative;                                          // cumulative.cpp
extern const KernelDef kPool;                                                // pool.cpp
extern const KernelDef kTranspose, kSlice, kExpand, kTile, kConcat, kSplit;  // move.cpp
extern const KernelDef kPad;                                                 // pad.cpp
extern const KernelDef kGather, kWhere;                                      // gather.cpp
extern const KernelDef kGatherNd, kGatherElements;                           // gather_nd.cpp
extern const KernelDef kScatterNd, kScatterElements;                         // scatter.cpp
extern const KernelDef kCast;                                                // cast.cpp
extern const KernelDef kConstantOfShape, kRange, kOneHot, kEyeLike, kTrilu;  // fill.cpp
extern const KernelDef kRecurrent;                                           // recurrent.cpp
extern const KernelDef kResize;                                              // resize.cpp
extern const KernelDef kQuantize, kDequantize, kDynamicQuantize;             // quantize.cpp
extern const KernelDef kIntMatMul;                                           // matmul_int.cpp
extern const KernelDef kIntConv;                                             // conv_int.cpp

}  // namespace tutti::cpu
