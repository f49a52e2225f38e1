#include "model.h"
#include "runtime/context.h"
#include "stepping.h"
#include "tensors.h"

namespace tutti::app {
namespace {

struct RunOptions {
  ModelOptions model;
  DeviceOptions device;
  InputOptions inputs;
  SteppingOptions stepping;
  std::string output_dir;
};

void say_output(const OutputOptions& output, const Json& row) {
  std::string line = fmt::format("{}: ", row["name"].get<std::string>());
  if (!row.contains("dtype"))
    line += row["kind"].get<std::string>();
  else
    line += fmt::format("{}{}", row["dtype"].get<std::string>(), row["shape"].dump());
  if (row.contains("statistics") && !row["statistics"].is_null())
    line += fmt::format("  min {:.6g}  max {:.6g}  mean {:.6g}", row["statistics"]["min"].get<double>(),
                        row["statistics"]["max"].get<double>(), row["statistics"]["mean"].get<double>());
  if (row.contains("file")) line += fmt::format("  -> {}", row["file"].get<std::string>());
  say(output, line);
}

Status run_run(const RunOptions& options, const OutputOptions& output) {
  const LoadedModel model = TUTTI_TRY(load_model(options.model, options.device));
  const ir::Graph& graph = model.graph();
  const auto inputs = TUTTI_TRY(load_inputs(graph, options.inputs, model.shapes));
  runtime::ExecutionContext context(model.engine);
  const auto outputs = TUTTI_TRY(run_steps(context, graph, inputs, options.stepping));
  std::vector<std::string> files;
  if (!options.output_dir.empty()) files = TUTTI_TRY(save_outputs(graph, outputs, options.output_dir));
  Json rows = Json::array();
  for (size_t i = 0; i < outputs.size(); ++i) {
    Json row = describe_output(graph.outputs()[i].name, outputs[i]);
    if (!files.empty()) row["file"] = files[i];
    say_output(output, row);
    rows.push_back(std::move(row));
  }
  if (output.json) print_json({{"outputs", rows}, {"device", "cpu"}, {"load_ms", model.load_ms}});
  return {};
}

}  // namespace

Command make_run(CLI::App& root) {
  CLI::App* command = root.add_subcommand("run", "Run a model or an engine once");
  command->footer("Example:\n  tutti run model.tutti --input image=picture.npy --output-dir out\n");
  auto output = std::make_shared<OutputOptions>();
  auto options = std::make_shared<RunOptions>();
  command->add_option("model", options->model.path, "An ONNX model or an engine")->required();
  command->add_option("--input", options->inputs.files,
                      "NAME=FILE.npy or NAME=FILE.pb, repeatable; NAME may be left out when there is one input");
  command->add_option("--random-inputs", options->inputs.random_seed, "Make up what is not given, from this seed");
  command->add_option("--steps", options->stepping.input,
                      "Run once per row of this input (a stateful model over a sequence)");
  command->add_option("--carry", options->stepping.carried,
                      "OUTPUT=INPUT: what a step gives to the next; with --steps, repeatable");
  command->add_option("--output-dir", options->output_dir, "Write each output to DIR/NAME.npy");
  add_compile_options(*command, options->model);
  add_device_options(*command, options->device);
  add_output_options(*command, *output);
  return {output, command, [=] { return run_run(*options, *output); }};
}

}  // namespace tutti::app
