// What the subcommands share: the options every one of them takes, and how a subcommand is made.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "base/error.h"

namespace tutti::app {

// --json, --quiet, --verbose: in every subcommand.
struct OutputOptions {
  bool json = false;
  bool quiet = false;
  bool verbose = false;
};

// --device, --threads, --memory-limit, --precision: in those that run something.
struct DeviceOptions {
  std::string device = "auto";
  int threads = 0;           // 0: the CPUs of the control group
  std::string memory_limit;  // "" : the control group's
  std::string precision = "fp32";
};

void add_output_options(CLI::App& command, OutputOptions& options);
void add_device_options(CLI::App& command, DeviceOptions& options);

// A subcommand: its declaration on the command line, and what it does once parsed.
struct Command {
  std::shared_ptr<OutputOptions> output;
  CLI::App* parsed = nullptr;
  std::function<Status()> run;
  // What the program ends with when `run` gave no error but its document says what failed; null: 0.
  std::shared_ptr<int> exit_code = nullptr;
};

Command make_build(CLI::App& root);
Command make_run(CLI::App& root);
Command make_bench(CLI::App& root);
Command make_inspect(CLI::App& root);
Command make_compare(CLI::App& root);
Command make_devices(CLI::App& root);
Command make_version(CLI::App& root);

}  // namespace tutti::app
