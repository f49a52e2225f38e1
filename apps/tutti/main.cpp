// tutti: compiles ONNX models into engines, checks and runs them. One file per subcommand.
#include <algorithm>
#include <array>
#include <cstdio>
#include <span>

#include <CLI/Error.hpp>

#include "base/log.h"
#include "command.h"
#include "report.h"

namespace tutti::app {
namespace {

bool wants_json(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (std::string_view(argv[i]) == "--json") return true;
  return false;
}

// CLI11 reports by exceptions; they end here.
int usage(const CLI::App& root, const CLI::ParseError& error, bool json) {
  if (error.get_exit_code() == 0) return root.exit(error);  // --help
  return report_error(
      Error(Code::kUsage, error.what(), "tutti --help lists the subcommands; tutti SUBCOMMAND --help its options"),
      json);
}

// CLI11 calls it a missing one.
bool is_unknown_subcommand(std::span<const Command> commands, int argc, char** argv) {
  const auto is_named = [&](const Command& command) { return command.parsed->get_name() == argv[1]; };
  return argc > 1 && argv[1][0] != '-' && std::none_of(commands.begin(), commands.end(), is_named);
}

int run_command(const Command& command) {
  set_log_level(command.output->verbose ? LogLevel::kInfo
                : command.output->quiet ? LogLevel::kError
                                        : LogLevel::kWarning);
  Status status = command.run();
  const int done = command.exit_code ? *command.exit_code : 0;
  return status.ok() ? done : report_error(status.error(), command.output->json);
}

int main_function(int argc, char** argv) {
  CLI::App root("Tutti compiles ONNX models into verified engines and runs them.", "tutti");
  root.require_subcommand(1);
  root.footer("Example:\n  tutti build model.onnx && tutti bench model.tutti\n");
  const std::array commands{make_build(root),   make_run(root),     make_bench(root),  make_inspect(root),
                            make_compare(root), make_devices(root), make_version(root)};
  if (is_unknown_subcommand(commands, argc, argv))
    return report_error(
        Error(Code::kUsage, fmt::format("found the subcommand '{}', expected one of those tutti has", argv[1]),
              "tutti --help lists them"),
        wants_json(argc, argv));
  try {
    root.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return usage(root, error, wants_json(argc, argv));
  }
  for (const Command& command : commands)
    if (command.parsed->parsed()) return run_command(command);
  return 1;
}

}  // namespace
}  // namespace tutti::app

int main(int argc, char** argv) { return tutti::app::main_function(argc, argv); }
