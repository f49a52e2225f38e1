// The CPU as a device.
#pragma once

#include <memory>

#include "backend/backend.h"

namespace tutti::cpu {

// Describes this machine's processor: name, caches, instruction sets (only those that the system saves on a switch of threads).
backend::DeviceInfo detect_cpu();
std::unique_ptr<backend::Backend> make_cpu_backend();

}  // namespace tutti::cpu
