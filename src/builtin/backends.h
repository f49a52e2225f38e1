// The one list of backends.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "base/error.h"

namespace tutti::builtin {

// Every backend that this build has and this machine can run, best first.
std::vector<std::unique_ptr<backend::Backend>> make_backends();

// The backend for `--device` (auto, cpu, cuda[:N]). A Device error says what is here when the wanted one is not.
Result<std::unique_ptr<backend::Backend>> select_backend(std::string_view device);

}  // namespace tutti::builtin
