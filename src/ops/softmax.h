// Softmax, LogSoftmax and Hardmax along one axis.
#pragma once

#include "ir/op_def.h"

namespace tutti::ops {

struct SoftmaxAttrs : ir::AttrsOf<SoftmaxAttrs> {
  int64_t axis = -1;
  void fields(ir::FieldVisitor& v) { v.field("axis", axis); }
};
struct LogSoftmaxAttrs : ir::AttrsOf<LogSoftmaxAttrs> {
  int64_t axis = -1;
  void fields(ir::FieldVisitor& v) { v.field("axis", axis); }
};
struct HardmaxAttrs : ir::AttrsOf<HardmaxAttrs> {
  int64_t axis = -1;
  void fields(ir::FieldVisitor& v) { v.field("axis", axis); }
};

extern const ir::OpDef kSoftmax;
extern const ir::OpDef kLogSoftmax;
extern const ir::OpDef kHardmax;  // 1 at the first maximum, 0 elsewhere

}  // namespace tutti::ops
