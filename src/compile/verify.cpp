#include "compile/verify.h"

#include <algorithm>
#include <chrono>

#include "compile/rounding_bound.h"
#include "compile/sampled_reference.h"
#include "engine/file_pages.h"
#include "ops/interpreter.h"
#include "ops/sample_inputs.h"
#include "ops/tolerance.h"

namespace tutti::compile {
namespace {

using ir::Datum;
using ir::Node;

constexpr double kHeavyFlops = 50e6;  // from here on a sample of the outputs is compared
constexpr int64_t kSampledOutputs = 4096;

// Compares each step that it is shown with the reference kernel of its op.
class StepChecker {
 public:
  explicit StepChecker(VerifyReport& report) : report_(report) {}

  // The weights that the reference has read are given back to the system: they are mapped, and the kernels have their
  // own form of them.
  Status check(const exec::StepEvent& event) {
    Status status = compare_step(event);
    for (const Datum& in : event.inputs)
      if (in.is_tensor()) engine::drop_pages(in.tensor());
    return status;
  }

 private:
  Status compare_step(const exec::StepEvent& event) {
    const Node& node = event.graph.node(event.node);
    // Random results cannot be compared; control flow is checked step by step inside its bodies.
    if (node.op->has(ir::kRandom) || node.op->has(ir::kControl)) return {};
    ++report_.steps_checked;
    if (is_heavy(event, node)) {
      const auto sample = sample_node(node, event.inputs, event.outputs[0].tensor(), kSampledOutputs,
                                      static_cast<uint64_t>(report_.steps_checked));
      if (sample) return check_sample(event, node, *sample);
    }
    auto reference = TUTTI_TRY(evaluate(node, event.inputs));
    for (size_t i = 0; i < event.outputs.size(); ++i)
      if (node.outputs[i] != ir::kNoValue)
        TUTTI_TRY(compare(event, {node, i, event.inputs, event.outputs[i], reference[i]}));
    return {};
  }

  static bool is_heavy(const exec::StepEvent& event, const Node& node) {
    return event.outputs.size() == 1 && event.outputs[0].is_tensor() &&
           estimate_flops(node, event.inputs, event.outputs[0].tensor()) > kHeavyFlops;
  }

  static Result<std::vector<Datum>> evaluate(const Node& node, std::span<const Datum> inputs) {
    return ops::evaluate(
        {.op = *node.op, .attrs = node.attrs, .inputs = inputs, .output_count = static_cast<int>(node.outputs.size())});
  }

  Status check_sample(const exec::StepEvent& event, const Node& node, const SampledNode& sample) {
    ++report_.sampled_steps;
    auto reference = TUTTI_TRY(evaluate(node, sample.inputs));
    const Datum actual = slice_axis(event.outputs[0].tensor(), sample.axis, sample.begin, sample.end);
    return compare(event, {node, 0, sample.inputs, actual, reference[0]});
  }

  // One output beside its reference, and the inputs that the reference had.
  struct Pair {
    const Node& node;
    size_t output;
    std::span<const Datum> inputs;
    const Datum& actual;
    const Datum& reference;
  };

  Status compare(const exec::StepEvent& event, const Pair& pair) {
    const Node& node = pair.node;
    const ops::Comparison found = ops::compare_data(pair.actual, pair.reference, node.op->tolerance);
    note(event, node, found);
    if (found.pass || TUTTI_TRY(differs_by_rounding(pair))) return {};
    return Error(Code::kVerification,
                 fmt::format("node '{}' ({}, kernel {}) output {}: {}", node.name, node.op->name, event.kernel,
                             pair.output, found.text),
                 "the engine was not saved; --disable-pass NAME or --stop-after-patch N narrows it down, --verify off "
                 "skips the check");
  }

  // Large terms that cancel leave a small result with the large terms' rounding.
  static Result<bool> differs_by_rounding(const Pair& pair) {
    if (!pair.actual.is_tensor() || !pair.reference.is_tensor()) return false;
    const auto magnitudes = TUTTI_TRY(summed_magnitudes(pair.node, pair.inputs));
    if (!magnitudes) return false;
    const ir::Tensor& reference = pair.reference.tensor();
    const double depth = estimate_flops(pair.node, pair.inputs, reference) / 2 /
                         static_cast<double>(std::max<int64_t>(reference.size(), 1));
    return within_rounding(pair.actual.tensor(), reference, *magnitudes, depth);
  }

  void note(const exec::StepEvent& event, const Node& node, const ops::Comparison& found) {
    if (report_.worst && report_.worst->max_absolute_error >= found.max_absolute_error) return;
    report_.worst = WorstStep{node.name, std::string(node.op->name), std::string(event.kernel),
                              found.max_relative_error, found.max_absolute_error};
  }

  VerifyReport& report_;
};

struct Trial {
  ir::ShapePoint point;
  ops::SampleKind kind;
};

std::vector<Trial> trials_of(VerifyLevel level) {
  using ir::ShapePoint;
  using ops::SampleKind;
  std::vector<Trial> trials{{ShapePoint::kMin, SampleKind::kRandom},
                            {ShapePoint::kMin, SampleKind::kEdge},
                            {ShapePoint::kTypical, SampleKind::kRandom}};
  if (level == VerifyLevel::kFull) {
    trials.push_back({ShapePoint::kTypical, SampleKind::kEdge});
    trials.push_back({ShapePoint::kMax, SampleKind::kRandom});
    trials.push_back({ShapePoint::kMax, SampleKind::kEdge});
  }
  return trials;
}

Status compare_whole(const VerifyRequest& request, std::span<const Datum> inputs, std::span<const Datum> outputs) {
  if (!request.original) return {};
  // Mapped weights are given back as soon as they have been read.
  const auto drop = [](ir::NodeId, std::span<const Datum> read, std::span<const Datum>) {
    for (const Datum& in : read)
      if (in.is_tensor()) engine::drop_pages(in.tensor());
  };
  auto reference = TUTTI_TRY(ops::interpret(*request.original, inputs, {.on_node = drop}));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = request.original->outputs()[i].name;
    // Differences add up over a whole graph: the approximate bound, ten times over.
    ops::Bounds limits = ops::bounds(ir::Tolerance::kApproximate,
                                     outputs[i].is_tensor() ? outputs[i].tensor().dtype() : ir::DType::kFloat32);
    limits.absolute *= 10;
    limits.relative *= 10;
    if (!outputs[i].is_tensor() || !reference[i].is_tensor()) continue;
    const ops::Comparison found = ops::compare_tensors(outputs[i].tensor(), reference[i].tensor(), limits);
    if (!found.pass)
      return Error(
          Code::kVerification, fmt::format("output '{}' of the whole graph: {}", name, found.text),
          "each step agreed with its reference, so that a pass changed the meaning or the model magnifies rounding: "
          "`tutti compare MODEL.onnx --bisect` says which");
  }
  return {};
}

Status run_once(const VerifyRequest& request, const VerifyOptions& options, std::span<const Datum> inputs,
                VerifyReport& report) {
  exec::MemoryBudget budget;
  exec::RunState state(request.threads, budget);
  state.seed = options.seed;
  StepChecker checker(report);
  state.observer = [&](const exec::StepEvent& event) { return checker.check(event); };
  auto outputs = TUTTI_TRY(request.executor.run(state, inputs));
  ++report.runs;
  return options.level == VerifyLevel::kFull ? compare_whole(request, inputs, outputs) : ok_status();
}

using Shapes = std::vector<ir::Dims>;

// Which shapes and kinds of input have been run.
struct Done {
  std::vector<std::pair<Shapes, ops::SampleKind>> trials;
  std::optional<Error> refusal;  // why the last made-up shapes did not run
};

// Sizes that are made up may not suit the model: then the interpreter refuses them too, and other sizes are tried. What
// only the plan refuses is an error.
Status run_trial(const VerifyRequest& request, const VerifyOptions& options, const Trial& trial, Done& done,
                 VerifyReport& report) {
  const ir::Graph& graph = request.executor.graph();
  Shapes previous;
  for (int attempt = 0; attempt < ir::kShapeAttempts; ++attempt) {
    Shapes shapes = TUTTI_TRY(ir::resolve_input_shapes(graph, options.shapes, trial.point, attempt));
    if (attempt > 0 && shapes == previous) return {};  // nothing is open
    const std::pair key{shapes, trial.kind};
    if (std::find(done.trials.begin(), done.trials.end(), key) != done.trials.end()) return {};
    auto inputs = TUTTI_TRY(ops::sample_inputs(
        graph, shapes, trial.kind, options.seed + done.trials.size() + static_cast<size_t>(attempt) * 16 + 1));
    Status status = run_once(request, options, inputs, report);
    if (status.ok()) {
      done.trials.push_back(key);
      return {};
    }
    if (status.error().code() == Code::kVerification || ops::interpret(graph, inputs).ok()) return status;
    done.refusal = status.take_error();
    previous = std::move(shapes);
  }
  return {};
}

}  // namespace

Result<VerifyLevel> parse_verify_level(std::string_view text) {
  for (const VerifyLevel level : {VerifyLevel::kOff, VerifyLevel::kFast, VerifyLevel::kFull})
    if (verify_level_name(level) == text) return level;
  return make_error(Code::kUsage, "--verify: found '{}', expected off, fast or full", text);
}

std::string_view verify_level_name(VerifyLevel level) {
  return level == VerifyLevel::kOff ? "off" : level == VerifyLevel::kFast ? "fast" : "full";
}

Result<VerifyReport> verify_plan(const VerifyRequest& request, const VerifyOptions& options) {
  VerifyReport report;
  report.level = options.level;
  if (options.level == VerifyLevel::kOff) return report;
  const auto start = std::chrono::steady_clock::now();
  Done done;
  for (const Trial& trial : trials_of(options.level))
    TUTTI_TRY(run_trial(request, options, trial, done, report).with_context("verification"));
  if (report.runs == 0 && done.refusal)
    return Error(Code::kVerification,
                 fmt::format("verification: the model ran at none of the shapes that were tried; at the last ones {}",
                             done.refusal->text()),
                 "say at which shapes it runs with --shapes NAME=...; --verify off saves the engine unchecked");
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace tutti::compile
