#include <filesystem>

#include "engine/format.h"
#include "model.h"

namespace tutti::app {
namespace {

struct BuildOptions {
  ModelOptions model;
  DeviceOptions device;
  std::string output, verify = "fast", report_file;
  double budget_s = 0;
};

std::string default_output(const std::string& model) {
  return std::filesystem::path(model).replace_extension(".tutti").string();
}

Json passes_json(const compile::CompileReport& report) {
  Json passes = Json::array();
  for (const auto& pass : report.passes)
    passes.push_back({{"name", pass.name},
                      {"ms", pass.milliseconds},
                      {"patches", pass.patches},
                      {"nodes_before", pass.nodes_before},
                      {"nodes_after", pass.nodes_after}});
  return passes;
}

Json build_json(const LoadedModel& built, const std::string& output) {
  return {
      {"engine", output},
      {"engine_bytes", std::filesystem::file_size(output)},
      {"seconds", built.times.total_s},
      {"times",
       {{"import_s", built.times.import_s}, {"passes_s", built.times.passes_s}, {"verify_s", built.times.verify_s}}},
      {"onnx_nodes", built.import.node_count},
      {"warnings", built.import.warnings},
      {"passes", passes_json(built.passes)},
      {"verification", verification_json(built.verification)},
      {"metadata", built.graph().metadata()}};
}

void say_summary(const OutputOptions& output, const LoadedModel& built, const Json& report) {
  const auto& check = built.verification;
  say(output,
      fmt::format("{}: {} nodes -> {} nodes, {} in {:.2f} s (import {:.2f}, passes {:.2f}, verification {:.2f})",
                  report["engine"].get<std::string>(), built.import.node_count, built.graph().node_count(),
                  human_bytes(report["engine_bytes"]), built.times.total_s, built.times.import_s, built.times.passes_s,
                  built.times.verify_s));
  if (check.level == compile::VerifyLevel::kOff) {
    say(output, "verification: off, nothing was compared");
  } else {
    say(output, fmt::format("verification: {}, {} steps in {} runs agree with the reference interpreter",
                            verify_level_name(check.level), check.steps_checked, check.runs));
    if (check.worst)
      say(output,
          fmt::format("  largest difference {:.2g} (relative {:.2g}) at '{}' ({}, {})", check.worst->max_absolute_error,
                      check.worst->max_relative_error, check.worst->node, check.worst->op, check.worst->kernel));
  }
  for (const std::string& warning : built.import.warnings) std::fprintf(stderr, "warning: %s\n", warning.c_str());
}

Status write_report(const std::string& path, const Json& report) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (!file) return make_error(Code::kIo, "--report {}: cannot write", path);
  const std::string text = report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return std::fclose(file) == 0 && written ? ok_status()
                                           : Status(make_error(Code::kIo, "--report {}: writing failed", path));
}

Status run_build(BuildOptions& options, const OutputOptions& output) {
  options.model.verify = TUTTI_TRY(compile::parse_verify_level(options.verify));
  if (options.budget_s != 0)
    return Error(Code::kUnsupported, fmt::format("--budget: found {}, expected 0", options.budget_s),
                 "this version has no tuner: kernels are taken in their ranked order");
  if (options.output.empty()) options.output = default_output(options.model.path);
  if (std::filesystem::path(options.output).lexically_normal() ==
      std::filesystem::path(options.model.path).lexically_normal())
    return make_error(Code::kUsage, "-o: found the model's own path {}, expected another file", options.output);
  const LoadedModel built = TUTTI_TRY(compile_model(options.model, options.device));
  TUTTI_TRY(engine::save_engine(built.engine->plan(), options.output, {.writer = TUTTI_VERSION}));
  const Json report = build_json(built, options.output);
  if (!options.report_file.empty()) TUTTI_TRY(write_report(options.report_file, report));
  if (output.json)
    print_json(report);
  else
    say_summary(output, built, report);
  return {};
}

}  // namespace

void add_compile_options(CLI::App& command, ModelOptions& options) {
  command.add_option("--shapes", options.shape_texts,
                     "NAME=1x3x224x224[,NAME=...], a hint; MIN:TYPICAL:MAX for a range; repeatable");
  command.add_option("--disable-pass", options.compile.disabled_passes, "Leave a pass out, by name; repeatable");
  command
      .add_option("--stop-after-patch", options.compile.stop_after_patch,
                  "Apply the first N patches only, to find the one that matters")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--dump-ir", options.compile.dump_ir, "Write the graph's text after each pass into this folder");
}

Command make_build(CLI::App& root) {
  CLI::App* command = root.add_subcommand("build", "Compile an ONNX model into a verified engine");
  command->footer("Example:\n  tutti build model.onnx -o model.tutti --shapes input=1x3x224x224\n");
  auto output = std::make_shared<OutputOptions>();
  auto options = std::make_shared<BuildOptions>();
  command->add_option("model", options->model.path, "The ONNX file")->required();
  command->add_option("-o,--output", options->output, "The engine (default: MODEL.tutti beside the model)");
  command->add_option("--verify", options->verify, "off, fast or full")->capture_default_str();
  command->add_option("--budget", options->budget_s, "Seconds for timing kernels (0: none)")->capture_default_str();
  command->add_option("--report", options->report_file, "Write the JSON report to this file too");
  add_compile_options(*command, options->model);
  add_device_options(*command, options->device);
  add_output_options(*command, *output);
  return {output, command, [=] { return run_build(*options, *output); }};
}

}  // namespace tutti::app
