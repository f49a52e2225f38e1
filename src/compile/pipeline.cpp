#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>

#include "compile/compiler.h"
#include "compile/passes/passes.h"
#include "engine/file_pages.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace tutti::compile {
namespace {

// Clean up first, so that patterns meet few forms; then fuse; then clean what fusing left.
constexpr std::array kPipeline{
    Pass{"dead_code", run_dead_code},
    Pass{"decide_if", run_decide_if},
    Pass{"pin_symbols", run_pin_symbols},
    Pass{"shape_arithmetic", run_shape_arithmetic},
    Pass{"fold_constants", run_fold_constants},
    Pass{"canonicalize", run_canonicalize},
    Pass{"cancel", run_cancel},
    Pass{"decide_if", run_decide_if},
    Pass{"common_subexpressions", run_common_subexpressions},
    Pass{"fuse_layer_norm", run_fuse_layer_norm},
    Pass{"fuse_activation", run_fuse_activation},
    Pass{"matmul_activation", run_matmul_activation},
    Pass{"simplify_views", run_simplify_views},
    Pass{"split_linear", run_split_linear},
    Pass{"simplify_views", run_simplify_views},
    Pass{"fuse_attention", run_fuse_attention},
    Pass{"fold_batch_norm", run_fold_batch_norm},
    Pass{"conv_activation", run_conv_activation},
    Pass{"channels_last", run_channels_last},
    Pass{"simplify_views", run_simplify_views},
    Pass{"cancel", run_cancel},
    Pass{"matmul_activation", run_matmul_activation},
    Pass{"fold_constants", run_fold_constants},
    Pass{"common_subexpressions", run_common_subexpressions},
    Pass{"dead_code", run_dead_code},
};

Status check_names(std::span<const Pass> passes, const std::vector<std::string>& disabled) {
  std::set<std::string_view> names;
  for (const Pass& pass : passes) names.insert(pass.name);
  for (const std::string& name : disabled) {
    if (names.contains(name)) continue;
    std::string known;
    for (const std::string_view candidate : names) known += (known.empty() ? "" : ", ") + std::string(candidate);
    return make_error(Code::kUsage, "--disable-pass: found '{}', expected one of {}", name, known);
  }
  return {};
}

Status dump(const ir::Graph& graph, const std::string& folder, size_t index, std::string_view name) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  const std::string path = fmt::format("{}/{:02}_{}.txt", folder, index, name);
  std::ofstream file(path);
  file << ir::print_graph(graph, {.inline_limit = 16, .origins = true});
  if (!file.flush())
    return make_error(Code::kIo, "--dump-ir: cannot write '{}'", path)
        .with_hint("check that the folder can be written to and the disk is not full");
  return {};
}

// A pass may have read all weights: their mapped pages go back to the system.
void drop_weights(const ir::Graph& graph) {
  for (ir::ValueId id = 0; id < graph.value_capacity(); ++id)
    if (graph.value(id).alive && graph.value(id).is_constant()) engine::drop_pages(graph.value(id).constant);
  for (ir::NodeId id = graph.first_node(); id != ir::kNoNode; id = graph.next_node(id))
    for (const auto& body : graph.node(id).bodies) drop_weights(*body);
}

Status run_pass(const Pass& pass, ir::Graph& graph, const CompileOptions& options, CompileReport& report) {
  using Clock = std::chrono::steady_clock;
  PassContext context{.patch_limit = options.stop_after_patch - report.patches, .backend = options.backend};
  PassReport entry{.name = std::string(pass.name), .nodes_before = graph.node_count()};
  const Clock::time_point start = Clock::now();
  PassStats stats = TUTTI_TRY(pass.run(graph, context));
  entry.milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  entry.patches = stats.patches;
  entry.by_rule = std::move(stats.by_rule);
  entry.declined = std::move(stats.declined);
  entry.nodes_after = graph.node_count();
  drop_weights(graph);
  report.patches += entry.patches;
  report.passes.push_back(std::move(entry));
  if (options.verify_passes) TUTTI_TRY(ir::verify_graph(graph));
  return {};
}

}  // namespace

std::span<const Pass> pipeline() { return kPipeline; }

Status optimize(ir::Graph& graph, const CompileOptions& options, CompileReport* report) {
  return run_passes(graph, pipeline(), options, report);
}

Status run_passes(ir::Graph& graph, std::span<const Pass> passes, const CompileOptions& options,
                  CompileReport* report) {
  CompileReport own;
  CompileReport& filled = report ? *report : own;
  TUTTI_TRY(check_names(passes, options.disabled_passes));
  if (!options.dump_ir.empty()) TUTTI_TRY(dump(graph, options.dump_ir, 0, "input"));
  for (size_t i = 0; i < passes.size() && filled.patches < options.stop_after_patch; ++i) {
    const Pass& pass = passes[i];
    if (std::find(options.disabled_passes.begin(), options.disabled_passes.end(), pass.name) !=
        options.disabled_passes.end())
      continue;
    TUTTI_TRY(run_pass(pass, graph, options, filled).with_context(fmt::format("pass '{}'", pass.name)));
    if (!options.dump_ir.empty()) TUTTI_TRY(dump(graph, options.dump_ir, i + 1, pass.name));
  }
  return {};
}

}  // namespace tutti::compile
