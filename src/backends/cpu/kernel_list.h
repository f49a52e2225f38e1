// Which kernels serve which operator.
#pragma once

#include <span>
#include <string_view>

#include "backend/kernel.h"

namespace tutti::cpu {

// Best first, by the operator's name. `wide` orders for machines with AVX-512, whose library kernels beat ours.
std::span<const backend::KernelDef* const> kernels_of(std::string_view op, bool wide);

}  // namespace tutti::cpu
