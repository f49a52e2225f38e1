#include "compare_bisect.h"

#include "ops/interpreter.h"

namespace tutti::app {
namespace {

using ir::Datum;

// A list of nodes can be long when a pass rewrites the whole graph at once.
constexpr size_t kNodesShown = 5;

Result<bool> agree(std::span<const NamedOutput> found, std::span<const NamedOutput> expected,
                   const MatchOptions& match) {
  return TUTTI_TRY(match_outputs(found, expected, match)).first_failure() == nullptr;
}

Result<bool> agrees_on_interpreter(const ir::Graph& graph, std::span<const Datum> inputs,
                                   std::span<const NamedOutput> expected, const MatchOptions& match) {
  auto outputs = TUTTI_TRY(ops::interpret(graph, inputs));
  std::vector<NamedOutput> named;
  for (size_t i = 0; i < outputs.size(); ++i) named.push_back({graph.outputs()[i].name, std::move(outputs[i])});
  return agree(named, expected, match);
}

Json nodes_json(std::span<const compile::ChangedNode> nodes) {
  Json out = Json::array();
  for (const auto& node : nodes) out.push_back({{"name", node.name}, {"op", node.op}, {"origins", node.origins}});
  return out;
}

std::string node_text(const compile::ChangedNode& node) {
  std::string out = fmt::format("'{}' ({}", node.name, node.op);
  for (size_t i = 0; i < node.origins.size(); ++i) out += fmt::format("{} '{}'", i ? "," : "; from", node.origins[i]);
  return out + ")";
}

void add_nodes(std::vector<std::string>& lines, std::string_view verb, std::span<const compile::ChangedNode> nodes) {
  for (size_t i = 0; i < nodes.size() && i < kNodesShown; ++i)
    lines.push_back(fmt::format("  {} {}", verb, node_text(nodes[i])));
  if (nodes.size() > kNodesShown) lines.push_back(fmt::format("  {} {} more nodes", verb, nodes.size() - kNodesShown));
}

}  // namespace

Result<BisectOutcome> bisect_model(const Side& original, std::span<const Datum> inputs,
                                   std::span<const NamedOutput> expected, const BisectOptions& options) {
  const ir::Graph& graph = *original.graph();
  const Side untouched = TUTTI_TRY(Side::of_graph(graph, options.device));
  compile::CompileOptions passes = options.model.compile;
  passes.backend = untouched.backend();
  passes.dump_ir.clear();
  BisectOutcome out;
  out.report = TUTTI_TRY(
      compile::bisect_patches({graph, compile::pipeline(), passes, [&](const ir::Graph& changed) -> Result<bool> {
                                 const Side side = TUTTI_TRY(Side::of_graph(changed, options.device));
                                 return agree(TUTTI_TRY(side.run(inputs)), expected, options.match);
                               }}));
  if (!out.report.culprit) return out;
  if (out.report.culprit->patch > 0) {
    out.wrong_on_interpreter =
        !TUTTI_TRY(agrees_on_interpreter(out.report.culprit->graph, inputs, expected, options.match));
    return out;
  }
  const auto rows =
      TUTTI_TRY(compare_layers({untouched, original, inputs, inputs, options.match.accuracy, options.limit_bytes}));
  if (const LayerRow* step = first_over(rows)) out.step = *step;
  return out;
}

Json bisect_json(const BisectOutcome& outcome) {
  Json out{{"patches", outcome.report.patches}, {"tries", outcome.report.tries}, {"found", false}};
  if (!outcome.report.culprit) return out;
  const compile::Culprit& culprit = *outcome.report.culprit;
  out["found"] = true;
  out["cause"] = outcome.wrong_on_interpreter ? "pass" : "kernel";
  out["patch"] = culprit.patch;
  if (culprit.patch > 0) {
    out.update({{"pass", culprit.pass},
                {"rule", culprit.rule},
                {"patch_of_pass", culprit.patch_of_pass},
                {"made", nodes_json(culprit.made)},
                {"removed", nodes_json(culprit.removed)}});
    const auto& changed = culprit.made.empty() ? culprit.removed : culprit.made;
    out["node"] = changed.empty() ? Json(nullptr) : Json(changed[0].name);
  } else {
    out["node"] = outcome.step ? Json(outcome.step->node) : Json(nullptr);
    if (outcome.step) out["step"] = layer_json(*outcome.step);
  }
  return out;
}

std::vector<std::string> bisect_lines(const BisectOutcome& outcome) {
  if (!outcome.report.culprit) return {"bisect: nothing to find, the outputs agree after all patches"};
  const compile::Culprit& culprit = *outcome.report.culprit;
  std::vector<std::string> lines;
  if (culprit.patch == 0) {
    lines.push_back("bisect: the outputs differ before any patch: a kernel differs from the interpreter");
    if (outcome.step) lines.push_back("  first at node '" + outcome.step->node + "':" + layer_line(*outcome.step));
    return lines;
  }
  lines.push_back(fmt::format(
      "bisect: patch {} of {} (pass '{}'{}, its patch {}) is the first that matters; {} graphs tried", culprit.patch,
      outcome.report.patches, culprit.pass, culprit.rule.empty() ? "" : ", rule '" + culprit.rule + "'",
      culprit.patch_of_pass, outcome.report.tries));
  add_nodes(lines, "made", culprit.made);
  add_nodes(lines, "removed", culprit.removed);
  lines.push_back(outcome.wrong_on_interpreter
                      ? "  the interpreter gives the wrong result too: the pass changed the meaning"
                      : "  the interpreter gives the right result: a kernel of what was made differs");
  lines.push_back(
      fmt::format("  --stop-after-patch {} is right, --stop-after-patch {} is not", culprit.patch - 1, culprit.patch));
  return lines;
}

}  // namespace tutti::app
