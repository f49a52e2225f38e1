// The list of all operators.
#pragma once

#include <span>
#include <string_view>

#include "ir/op_def.h"

namespace tutti::ops {

// Every operator, ordered by name.
std::span<const ir::OpDef* const> all_ops();
// Null when there is no such operator. Names are unique: com.microsoft operators that share a name with an ONNX
// operator but differ are listed as "com.microsoft.NAME".
const ir::OpDef* find_op(std::string_view name);

}  // namespace tutti::ops
