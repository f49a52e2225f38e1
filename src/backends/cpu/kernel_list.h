// Which kernels serve which operator.
#pragma once

#include <span>
#include <string_view>

#include "backend/kernel.h"

namespace tutti::cpu {

// Best first, by the operator's name; empty where the reference kernel is all there is.
std::span<const backend::KernelDef* const> kernels_of(std::string_view op);

}  // namespace tutti::cpu
