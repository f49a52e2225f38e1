#include "builtin/backends.h"

#include "backends/cpu/cpu_backend.h"

namespace tutti::builtin {

std::vector<std::unique_ptr<backend::Backend>> make_backends() {
  std::vector<std::unique_ptr<backend::Backend>> out;
  out.push_back(cpu::make_cpu_backend());
  return out;
}

Result<std::unique_ptr<backend::Backend>> select_backend(std::string_view device) {
  auto backends = make_backends();
  const std::string_view kind = device.substr(0, device.find(':'));
  for (auto& candidate : backends)
    if (kind == "auto" || kind == candidate->device().kind) return std::move(candidate);
  std::string here;
  for (const auto& candidate : backends) here += (here.empty() ? "" : ", ") + candidate->device().kind;
  if (kind != "cuda" && kind != "cpu")
    return make_error(Code::kUsage, "--device: found '{}', expected auto, cpu or cuda[:N]", device);
  return Error(Code::kDevice,
               fmt::format("--device {}: found no such device in this build, expected one of: {}", device, here),
               "tutti devices shows what is here");
}

}  // namespace tutti::builtin
