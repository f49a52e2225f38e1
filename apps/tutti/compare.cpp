#include <filesystem>
#include <memory>
#include <optional>

#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>

#include "base/memory_info.h"
#include "compare_bisect.h"
#include "tensors.h"

namespace tutti::app {
namespace {

struct CompareOptions {
  ModelOptions model;  // its path is A
  std::string b;       // empty: A uncompiled
  DeviceOptions device;
  InputOptions inputs;
  std::string accuracy;
  int64_t top_k = 0;
  bool interpret = false, all_layers = false, bisect = false;
};

struct Sides {
  Side a, b;
};

// What is compared, and what was found.
struct Comparison {
  ops::Accuracy accuracy = ops::kFloat32Accuracy;
  int64_t top_k = 0;
  OutputRows outputs;
  std::optional<std::vector<LayerRow>> layers;
  std::optional<BisectOutcome> bisect;
};

bool same_file(const std::string& a, const std::string& b) {
  std::error_code failed;
  return std::filesystem::equivalent(a, b, failed);
}

Result<Sides> open_sides(const CompareOptions& options) {
  const bool with_itself = options.b.empty() || (options.bisect && same_file(options.model.path, options.b));
  if (options.bisect && !with_itself)
    return Error(Code::kUsage,
                 fmt::format("--bisect: found a second thing to compare, {}, expected one model", options.b),
                 "tutti compare MODEL.onnx --bisect compares the model with itself uncompiled");
  ModelOptions second = options.model;
  if (!options.b.empty()) second.path = options.b;
  const bool uncompiled = with_itself || options.interpret;
  Side b = uncompiled ? TUTTI_TRY(Side::open_uncompiled(second)) : TUTTI_TRY(Side::open(second, options.device));
  Side a = TUTTI_TRY(Side::open(options.model, options.device));
  Sides sides{std::move(a), std::move(b)};
  if (options.all_layers && (sides.a.is_directory() || sides.b.is_directory()))
    return Error(Code::kUsage,
                 fmt::format("--all-layers: found a directory, {}, expected a model or an engine on both sides",
                             sides.a.is_directory() ? sides.a.path() : sides.b.path()),
                 "files hold outputs only");
  return sides;
}

Result<ops::Accuracy> accuracy_of(const CompareOptions& options, const Sides& sides) {
  if (!options.accuracy.empty()) return ops::parse_accuracy(options.accuracy);
  const auto is_low = [](const Side& side) { return side.graph() && ops::has_low_precision(*side.graph()); };
  const bool fp32 = options.device.precision == "fp32" || options.device.precision == "auto";
  return fp32 && !is_low(sides.a) && !is_low(sides.b) ? ops::kFloat32Accuracy : ops::kLowPrecisionAccuracy;
}

// Inputs of both sides; a directory has none.
struct SideInputs {
  std::vector<ir::Datum> a, b;
};

Result<SideInputs> inputs_of(const CompareOptions& options, const Sides& sides) {
  SideInputs out;
  if (const ir::Graph* graph = sides.a.graph()) {
    out.a = TUTTI_TRY(load_inputs(*graph, options.inputs, sides.a.shapes()));
    if (sides.b.graph()) out.b = TUTTI_TRY(inputs_by_name(*graph, out.a, *sides.b.graph()));
  } else if (sides.b.graph()) {
    out.b = TUTTI_TRY(load_inputs(*sides.b.graph(), options.inputs, sides.b.shapes()));
  }
  return out;
}

Result<Comparison> compare(const CompareOptions& options, const Sides& sides) {
  Comparison out;
  out.accuracy = TUTTI_TRY(accuracy_of(options, sides));
  out.top_k = options.top_k;
  const SideInputs inputs = TUTTI_TRY(inputs_of(options, sides));
  const MatchOptions match{out.accuracy, options.top_k, sides.a.is_directory() || sides.b.is_directory()};
  const auto expected = TUTTI_TRY(sides.b.run(inputs.b));
  out.outputs = TUTTI_TRY(match_outputs(TUTTI_TRY(sides.a.run(inputs.a)), expected, match));
  const uint64_t limit_bytes =
      options.device.memory_limit.empty() ? usable_memory_bytes() : TUTTI_TRY(parse_size(options.device.memory_limit));
  if (options.all_layers)
    out.layers = TUTTI_TRY(compare_layers({sides.a, sides.b, inputs.a, inputs.b, out.accuracy, limit_bytes}));
  if (options.bisect && out.outputs.first_failure())
    out.bisect =
        TUTTI_TRY(bisect_model(sides.b, inputs.b, expected, {options.model, options.device, match, limit_bytes}));
  return out;
}

// The error of outputs that do not agree; nothing when all do.
std::optional<Error> verdict(const Comparison& found) {
  const OutputRow* row = found.outputs.first_failure();
  if (!row) return std::nullopt;
  std::string hint = "--all-layers names the first layer that differs, --accuracy COS,REL sets the limits";
  if (found.bisect && found.bisect->report.culprit)
    hint = "the lines of bisect say where it comes from; --disable-pass NAME leaves a pass out";
  return Error(Code::kVerification, fmt::format("output '{}': {}", row->name, row->text()), hint);
}

Json side_json(const Side& side) { return {{"path", side.path()}, {"kind", side.kind()}}; }

Json document_of(const Comparison& found, const Sides& sides) {
  Json outputs = Json::array();
  for (const OutputRow& row : found.outputs.rows) outputs.push_back(output_json(row, found.top_k));
  Json out{{"a", side_json(sides.a)},
           {"b", side_json(sides.b)},
           {"accuracy", {{"cosine", found.accuracy.cosine}, {"relative", found.accuracy.relative}}},
           {"verdict", found.outputs.first_failure() ? "fail" : "pass"},
           {"outputs", outputs},
           {"only_in_a", found.outputs.only_in_a},
           {"only_in_b", found.outputs.only_in_b}};
  if (found.layers) {
    out["layers"] = Json::array();
    for (const LayerRow& row : *found.layers) out["layers"].push_back(layer_json(row));
    const LayerRow* first = first_over(*found.layers);
    out["first_layer_over_limit"] = first ? Json(first->value) : Json(nullptr);
  }
  if (found.bisect) out["bisect"] = bisect_json(*found.bisect);
  return out;
}

void say_layers(const OutputOptions& output, std::span<const LayerRow> rows) {
  say(output, fmt::format("{} values that both sides make, in A's order:", rows.size()));
  for (const LayerRow& row : rows) say(output, layer_line(row));
  const LayerRow* first = first_over(rows);
  if (!first) return say(output, "no layer is over the limit");
  std::string origins;
  for (const std::string& origin : first->origins) origins += (origins.empty() ? "" : ", ") + origin;
  say(output, fmt::format("first layer over the limit: '{}', made by node '{}' ({}, kernel {}; from {}): {}",
                          first->value, first->node, first->op, first->kernel, origins, first->difference.text));
}

void say_comparison(const OutputOptions& output, const Comparison& found, bool bisecting) {
  if (found.layers) say_layers(output, *found.layers);
  for (const OutputRow& row : found.outputs.rows) say(output, output_line(row, found.top_k));
  for (const std::string& name : found.outputs.only_in_a) say(output, name + ": only in A, not compared");
  for (const std::string& name : found.outputs.only_in_b) say(output, name + ": only in B, not compared");
  if (found.bisect)
    for (const std::string& line : bisect_lines(*found.bisect)) say(output, line);
  else if (bisecting)
    say(output, "bisect: nothing to find, the outputs agree");
  if (!found.outputs.first_failure())
    say(output,
        fmt::format("{} outputs agree: cosine at least {:g}, max rel at most {:g}; other types {:g} % equal",
                    found.outputs.rows.size(), found.accuracy.cosine, found.accuracy.relative, ops::kEqualShare * 100));
}

Status run_compare(const CompareOptions& options, const OutputOptions& output, int& exit) {
  if (!options.accuracy.empty()) TUTTI_TRY(ops::parse_accuracy(options.accuracy));
  const Sides sides = TUTTI_TRY(open_sides(options));
  const Comparison found = TUTTI_TRY(compare(options, sides));
  std::optional<Error> failure = verdict(found);
  if (!output.json) {
    say_comparison(output, found, options.bisect);
    return failure ? Status(*std::move(failure)) : ok_status();
  }
  // One document: what was found, and the error beside it.
  Json document = document_of(found, sides);
  if (failure) {
    document.update(error_document(*failure));
    exit = exit_code(failure->code());
  }
  print_json(document);
  return {};
}

constexpr const char* kFooter =
    "B is the reference: max rel is max|A-B| / max|B| of an output. Without B, A must be a model, and is compared "
    "with\n"
    "itself uncompiled, on the reference interpreter. The exit code is 3 when an output does not agree.\n\n"
    "Examples:\n"
    "  tutti compare model.tutti model.onnx --random-inputs 1 --shapes image=1x3x224x224\n"
    "  tutti compare model.tutti expected_outputs/ --input image=picture.npy --top-k 5\n"
    "  tutti compare model.onnx --random-inputs 1 --all-layers --bisect\n";

}  // namespace

Command make_compare(CLI::App& root) {
  CLI::App* command = root.add_subcommand("compare", "Compare the outputs of two models, engines or directories");
  command->footer(kFooter);
  auto output = std::make_shared<OutputOptions>();
  auto options = std::make_shared<CompareOptions>();
  auto exit = std::make_shared<int>(0);
  command->add_option("A", options->model.path, "A model (.onnx), an engine (.tutti) or a directory of .npy outputs")
      ->required();
  command->add_option("B", options->b, "The same, the reference (default: A's model uncompiled)");
  command->add_option(
      "--input", options->inputs.files,
      "NAME=FILE.npy or NAME=FILE.pb for both sides, repeatable; NAME may be left out when there is one");
  command->add_option("--random-inputs", options->inputs.random_seed, "Make up what is not given, from this seed");
  command->add_option(
      "--accuracy", options->accuracy,
      "COS,REL: what float outputs must reach (default: 0.99999,1e-4; 0.9999,1e-2 where a side computes "
      "in less than FP32)");
  command
      ->add_option("--top-k", options->top_k,
                   "Compare decisions too: the sets of the K largest along the last axis of each output")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 30));
  command->add_flag("--interpret", options->interpret, "Run B, a model, uncompiled on the reference interpreter");
  command->add_flag("--all-layers", options->all_layers,
                    "Compare the values inside too, by the names that both sides kept");
  command->add_flag("--bisect", options->bisect,
                    "Find the patch of a pass, or the kernel, that makes A differ from itself");
  add_compile_options(*command, options->model);
  add_device_options(*command, options->device);
  add_output_options(*command, *output);
  return {output, command, [=] { return run_compare(*options, *output, *exit); }, exit};
}

}  // namespace tutti::app
