// The kernels made of oneDNN's primitives.
#pragma once

#include "backend/kernel.h"

namespace tutti::cpu {

extern const backend::KernelDef kOneDnnConv;    // conv.cpp
extern const backend::KernelDef kOneDnnDeconv;  // deconv.cpp

}  // namespace tutti::cpu
