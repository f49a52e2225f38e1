// Which kernels serve which operators, best first.
#pragma once

#include <span>

#include "backend/kernel.h"
#include "ir/op_def.h"

namespace tutti::cpu {

// Empty for operators that have none: the reference kernel runs them.
std::span<const backend::KernelDef* const> kernels_of(const ir::OpDef& op);

}  // namespace tutti::cpu
