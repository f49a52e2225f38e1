#include "command.h"
#include "report.h"

#ifndef TUTTI_VERSION
#define TUTTI_VERSION "unknown"
#endif

namespace tutti::app {

Command make_version(CLI::App& root) {
  CLI::App* command = root.add_subcommand("version", "Print the version");
  command->footer("Example:\n  tutti version --json\n");
  auto output = std::make_shared<OutputOptions>();
  add_output_options(*command, *output);
  return {output, command, [output]() -> Status {
            if (output->json)
              print_json({{"version", TUTTI_VERSION}, {"compiler", __VERSION__}});
            else
              say(*output, fmt::format("tutti {} (compiler {})", TUTTI_VERSION, __VERSION__));
            return {};
          }};
}

}  // namespace tutti::app
