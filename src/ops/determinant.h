// Det: determinants of square matrices.
#pragma once

#include "ir/op_def.h"

namespace tutti::ops {

extern const ir::OpDef kDet;  // [..., M, M] -> [...]

}  // namespace tutti::ops
