// The CPU as a backend.
#pragma once

#include <memory>

#include "backend/backend.h"

namespace tutti::cpu {

// For the machine at hand.
std::unique_ptr<backend::Backend> make_cpu_backend();
// For a machine described by the caller: kernels refuse what it cannot do. For tests.
std::unique_ptr<backend::Backend> make_cpu_backend(backend::DeviceInfo device);

}  // namespace tutti::cpu
