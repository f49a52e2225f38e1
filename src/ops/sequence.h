// Sequences of tensors and optional values. An empty optional is an empty Datum.
#pragma once

#include "ir/op_def.h"

namespace tutti::ops {

struct SequenceEmptyAttrs : ir::AttrsOf<SequenceEmptyAttrs> {
  ir::DType dtype = ir::DType::kFloat32;
  void fields(ir::FieldVisitor& v) { v.field("dtype", dtype); }
};

struct SplitToSequenceAttrs : ir::AttrsOf<SplitToSequenceAttrs> {
  int64_t axis = 0;
  bool keepdims = true;  // only meaningful without the input `split`
  void fields(ir::FieldVisitor& v) {
    v.field("axis", axis);
    v.field("keepdims", keepdims);
  }
};

struct ConcatFromSequenceAttrs : ir::AttrsOf<ConcatFromSequenceAttrs> {
  int64_t axis = 0;
  bool new_axis = false;
  void fields(ir::FieldVisitor& v) {
    v.field("axis", axis);
    v.field("new_axis", new_axis);
  }
};

// The contained type when there is no input to take it from.
struct OptionalAttrs : ir::AttrsOf<OptionalAttrs> {
  ir::DType dtype = ir::DType::kFloat32;
  bool sequence = false;
  void fields(ir::FieldVisitor& v) {
    v.field("dtype", dtype);
    v.field("sequence", sequence);
  }
};

extern const ir::OpDef kSequenceAt, kSequenceConstruct, kSequenceEmpty, kSequenceErase, kSequenceInsert,
    kSequenceLength;
extern const ir::OpDef kSplitToSequence, kConcatFromSequence;
extern const ir::OpDef kOptional, kOptionalGetElement, kOptionalHasElement;

}  // namespace tutti::ops
