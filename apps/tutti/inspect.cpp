#include <fstream>
#include <map>

#include "engine/format.h"
#include "ir/op_def.h"
#include "ir/text.h"
#include "model.h"
#include "runtime/context.h"
#include "tensors.h"

namespace tutti::app {
namespace {

struct InspectOptions {
  ModelOptions model;
  DeviceOptions device;
  bool layers = false, passes = false, fallbacks = false, memory = false, verify = false;
  std::string graph_file;
};

Json node_counts(const ir::Graph& graph) {
  std::map<std::string, int64_t> counts;
  for (const ir::NodeId id : graph.order()) ++counts[std::string(graph.node(id).op->name)];
  return counts;
}

// The plan at the typical shapes: which kernel runs what, what falls back, how much memory it takes.
struct Specialised {
  Json kernels = Json::object(), fallbacks = Json::array(), host = Json::array(), layers = Json::array();
  uint64_t arena_bytes = 0, lower_bound_bytes = 0;
};

void add_program(const ir::Graph& graph, const exec::Program& program, Specialised& out) {
  for (const exec::Step& step : program.steps) {
    const std::string kernel(exec::kernel_name(step));
    out.kernels[kernel] = out.kernels.value(kernel, 0) + 1;
    const ir::Node& node = graph.node(step.node);
    Json shapes = Json::array();
    for (const exec::Operand& operand : step.outputs) shapes.push_back(operand.desc.dims);
    out.layers.push_back({{"node", node.name},
                          {"op", node.op->name},
                          {"kernel", kernel},
                          {"outputs", shapes},
                          {"origins", node.origins}});
  }
  for (const exec::Fallback& fallback : program.fallbacks) {
    std::string reason;
    for (const auto& [kernel, refusal] : fallback.refusals)
      reason += fmt::format("{}{}: {}", reason.empty() ? "" : "; ", kernel, refusal);
    out.fallbacks.push_back({{"node", fallback.node},
                             {"op", fallback.op},
                             {"reason", reason.empty() ? "no kernel for this operator" : reason}});
  }
  for (const std::string& name : program.host_arithmetic) out.host.push_back(name);
  for (const std::string& name : program.host_steps) out.host.push_back(name);
  out.arena_bytes = std::max<uint64_t>(out.arena_bytes, program.arena_bytes);
  out.lower_bound_bytes = std::max<uint64_t>(out.lower_bound_bytes, program.arena_lower_bound_bytes);
}

// One run at the typical shapes makes every stage's program.
Result<Specialised> specialise_all(const LoadedModel& model) {
  const ir::Graph& graph = model.graph();
  const auto inputs = TUTTI_TRY(load_inputs(graph, {{}, 0}, model.shapes));
  runtime::ExecutionContext context(model.engine);
  TUTTI_TRY(context.run(inputs));
  Specialised out;
  for (const exec::ProgramOf& made : model.engine->executor().programs()) add_program(*made.graph, *made.program, out);
  return out;
}

void say_ports(const OutputOptions& output, const char* title, const ir::Graph& graph,
               std::span<const ir::Port> ports) {
  for (const ir::Port& port : ports)
    say(output, fmt::format("{} {}: {}", title, port.name, graph.value(port.value).type.text()));
}

void say_details(const OutputOptions& output, const InspectOptions& options, const LoadedModel& model,
                 const Specialised& made) {
  if (options.layers)
    for (const Json& layer : made.layers)
      say(output,
          fmt::format("  {:<28} {:<22} {} {}", layer["op"].get<std::string>(), layer["kernel"].get<std::string>(),
                      layer["outputs"].dump(), layer["node"].get<std::string>()));
  if (options.passes)
    for (const auto& pass : model.passes.passes) {
      say(output, fmt::format("  {:<24} {:8.2f} ms {:6} patches {:6} -> {} nodes", pass.name, pass.milliseconds,
                              pass.patches, pass.nodes_before, pass.nodes_after));
      for (const auto& [node, reason] : pass.declined) say(output, fmt::format("    left {}: {}", node, reason));
    }
  if (options.fallbacks || !made.fallbacks.empty())
    say(output, fmt::format("fallbacks to reference kernels: {}", made.fallbacks.size()));
  if (options.fallbacks) {
    for (const Json& row : made.fallbacks)
      say(output, fmt::format("  {} ({}): {}", row["node"].get<std::string>(), row["op"].get<std::string>(),
                              row["reason"].get<std::string>()));
    say(output, fmt::format("shape arithmetic and control flow on the host: {} nodes", made.host.size()));
  }
  if (options.memory)
    say(output,
        fmt::format("arena {}, lower bound {}", human_bytes(made.arena_bytes), human_bytes(made.lower_bound_bytes)));
}

Status write_graph(const std::string& path, const ir::Graph& graph) {
  if (!path.ends_with(".txt"))
    return Error(Code::kUnsupported, fmt::format("--graph: found '{}', expected a .txt file", path),
                 "this version writes the text form only");
  std::ofstream file(path);
  file << ir::print_graph(graph, {.inline_constants = true, .origins = true});
  file.close();
  return file ? ok_status() : Status(make_error(Code::kIo, "--graph {}: writing failed", path));
}

Status run_inspect(InspectOptions& options, const OutputOptions& output) {
  options.model.verify = options.verify ? compile::VerifyLevel::kFast : compile::VerifyLevel::kOff;
  const LoadedModel model = TUTTI_TRY(load_model(options.model, options.device));
  const ir::Graph& graph = model.graph();
  if (options.verify && !model.compiled) TUTTI_TRY(engine::load_engine(options.model.path, {.verify_weights = true}));
  const Specialised made = TUTTI_TRY(specialise_all(model));
  if (!options.graph_file.empty()) TUTTI_TRY(write_graph(options.graph_file, graph));
  if (output.json) {
    print_json({{"inputs", ports_json(graph, graph.inputs())},
                {"outputs", ports_json(graph, graph.outputs())},
                {"nodes", node_counts(graph)},
                {"kernels", made.kernels},
                {"precision", "fp32"},
                {"fallbacks", made.fallbacks},
                {"host", made.host},
                {"arena_bytes", made.arena_bytes},
                {"arena_lower_bound_bytes", made.lower_bound_bytes},
                {"weights_bytes", engine::weights_bytes(graph)},
                {"provenance", model.engine->plan().provenance},
                {"metadata", graph.metadata()},
                {"layers", made.layers}});
    return {};
  }
  say_ports(output, "input ", graph, graph.inputs());
  say_ports(output, "output", graph, graph.outputs());
  say(output, fmt::format("{} nodes, {} of weights", graph.node_count(), human_bytes(engine::weights_bytes(graph))));
  for (const auto& [kernel, count] : made.kernels.items())
    say(output, fmt::format("  {:5} x {}", count.get<int64_t>(), kernel));
  for (const auto& [key, value] : model.engine->plan().provenance) say(output, fmt::format("  {}: {}", key, value));
  say_details(output, options, model, made);
  return {};
}

}  // namespace

Command make_inspect(CLI::App& root) {
  CLI::App* command = root.add_subcommand("inspect", "Show what is in a model or an engine");
  command->footer("Example:\n  tutti inspect model.tutti --layers --fallbacks\n");
  auto output = std::make_shared<OutputOptions>();
  auto options = std::make_shared<InspectOptions>();
  command->add_option("model", options->model.path, "An ONNX model or an engine")->required();
  command->add_flag("--layers", options->layers, "Every step with its kernel");
  command->add_flag("--passes", options->passes, "What each pass did (models only)");
  command->add_flag("--fallbacks", options->fallbacks, "Steps on reference kernels, with the reasons");
  command->add_flag("--memory", options->memory, "Arena size against its lower bound");
  command->add_flag("--verify", options->verify,
                    "Check an engine's weights against their hashes; verify a model's plan");
  command->add_option("--graph", options->graph_file, "Write the optimised graph to FILE.txt");
  add_compile_options(*command, options->model);
  add_device_options(*command, options->device);
  add_output_options(*command, *output);
  return {output, command, [=] { return run_inspect(*options, *output); }};
}

}  // namespace tutti::app
