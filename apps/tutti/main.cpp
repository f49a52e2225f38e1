// tutti: compiles ONNX models into engines, checks and runs them. One file per subcommand.
#include <array>
#include <cstdio>

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
