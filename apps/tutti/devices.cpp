#include <fmt/format.h>

#include "base/memory_info.h"
#include "builtin/backends.h"
#include "command.h"
#include "report.h"

namespace tutti::app {
namespace {

Json device_json(const backend::DeviceInfo& device) {
  Json libraries = Json::object();
  for (const auto& [name, version] : device.libraries) libraries[name] = version;
  return {{"kind", device.kind},
          {"name", device.name},
          {"isa", device.isa},
          {"features", device.features},
          {"cores", device.cores},
          {"usable_cpus", usable_cpus()},
          {"memory_bytes", device.memory_bytes},
          {"usable_memory_bytes", usable_memory_bytes()},
          {"cache_bytes", {device.l1_bytes, device.l2_bytes, device.l3_bytes}},
          {"libraries", libraries}};
}

Status run_devices(const OutputOptions& output) {
  Json list = Json::array();
  for (const auto& backend : builtin::make_backends()) {
    const backend::DeviceInfo& device = backend->device();
    list.push_back(device_json(device));
    say(output, fmt::format("{}: {}", device.kind, device.name));
    say(output, fmt::format("  {} cores, {} usable; {} of memory usable", device.cores, usable_cpus(),
                            human_bytes(usable_memory_bytes())));
    say(output, fmt::format("  instructions: {} (features: {})", device.isa, fmt::join(device.features, " ")));
    for (const auto& [name, version] : device.libraries) say(output, fmt::format("  {} {}", name, version));
  }
  if (output.json) print_json({{"devices", list}});
  return {};
}

}  // namespace

Command make_devices(CLI::App& root) {
  CLI::App* command = root.add_subcommand("devices", "Show what this machine offers");
  command->footer("Example:\n  tutti devices --json\n");
  auto output = std::make_shared<OutputOptions>();
  add_output_options(*command, *output);
  return {output, command, [=] { return run_devices(*output); }};
}

}  // namespace tutti::app
