// Einsum: sums of products named by index letters, as numpy.einsum has them.
#pragma once

#include <string>

#include "ir/op_def.h"

namespace tutti::ops {

struct EinsumAttrs : ir::AttrsOf<EinsumAttrs> {
  std::string equation;  // "ij,jk->ik"; an ellipsis stands for broadcast dimensions; without "->" the letters that
                         // occur once, sorted
  void fields(ir::FieldVisitor& v) { v.field("equation", equation); }
};

extern const ir::OpDef kEinsum;

}  // namespace tutti::ops
