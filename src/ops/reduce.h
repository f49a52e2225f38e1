// Operators that fold or scan along axes.
#pragma once

#include "ir/op_def.h"

namespace tutti::ops {

// Axes are the second input. Without axes everything is reduced, unless noop_with_empty_axes.
struct ReduceAttrs : ir::AttrsOf<ReduceAttrs> {
  bool keepdims = true, noop_with_empty_axes = false;
  void fields(ir::FieldVisitor& v) {
    v.field("keepdims", keepdims), v.field("noop_with_empty_axes", noop_with_empty_axes);
  }
};
struct ArgAttrs : ir::AttrsOf<ArgAttrs> {
  int64_t axis = 0;
  bool keepdims = true, select_last_index = false;
  void fields(ir::FieldVisitor& v) {
    v.field("axis", axis), v.field("keepdims", keepdims), v.field("select_last_index", select_last_index);
  }
};
struct CumulativeAttrs : ir::AttrsOf<CumulativeAttrs> {
  bool exclusive = false, reverse = false;
  void fields(ir::FieldVisitor& v) { v.field("exclusive", exclusive), v.field("reverse", reverse); }
};

extern const ir::OpDef kReduceL1, kReduceL2, kReduceLogSum, kReduceLogSumExp, kReduceMax, kReduceMean, kReduceMin,
    kReduceProd, kReduceSum, kReduceSumSquare;
extern const ir::OpDef kArgMax, kArgMin, kCumSum, kCumProd;

}  // namespace tutti::ops
