// Operators that look for elements: TopK, NonMaxSuppression, Unique.
#pragma once

#include "ir/op_def.h"

namespace tutti::ops {

struct TopKAttrs : ir::AttrsOf<TopKAttrs> {
  int64_t axis = -1;
  bool largest = true, sorted = true;
  void fields(ir::FieldVisitor& v) {
    v.field("axis", axis);
    v.field("largest", largest);
    v.field("sorted", sorted);
  }
};

struct NonMaxSuppressionAttrs : ir::AttrsOf<NonMaxSuppressionAttrs> {
  bool center_point_box = false;
  void fields(ir::FieldVisitor& v) { v.field("center_point_box", center_point_box); }
};

struct UniqueAttrs : ir::AttrsOf<UniqueAttrs> {
  std::optional<int64_t> axis;
  bool sorted = true;
  void fields(ir::FieldVisitor& v) {
    v.field("axis", axis);
    v.field("sorted", sorted);
  }
};

extern const ir::OpDef kTopK, kNonMaxSuppression, kUnique;

}  // namespace tutti::ops
