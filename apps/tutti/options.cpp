#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>

#include "command.h"

namespace tutti::app {

void add_output_options(CLI::App& command, OutputOptions& options) {
  command.add_flag("--json", options.json, "Print one JSON document on standard output, and nothing else there");
  command.add_flag("--quiet", options.quiet, "Print errors only");
  command.add_flag("--verbose", options.verbose, "Print more");
}

void add_device_options(CLI::App& command, DeviceOptions& options) {
  command.add_option("--device", options.device, "auto, cpu or cuda[:N]")->capture_default_str();
  command.add_option("--threads", options.threads, "Threads to use (default: the CPUs of the control group)")
      ->check(CLI::Range(1, 1024));
  command.add_option("--memory-limit", options.memory_limit,
                     "Most memory to use, such as 800M or 4G (default: the control group's limit)");
  command.add_option("--precision", options.precision, "Arithmetic of the engine; fp32 is what this version offers")
      ->capture_default_str();
}

}  // namespace tutti::app
