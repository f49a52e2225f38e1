// `tutti compare --bisect`: which patch, or which kernel, makes a compiled model differ from the model.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "compare_report.h"
#include "compile/bisect.h"

namespace tutti::app {

struct BisectOutcome {
  compile::BisectReport report;
  // Whether the graph after the patch is wrong on the interpreter too. Otherwise a kernel is: of the node that the
  // patch made, or `step`'s when no patch is needed.
  bool wrong_on_interpreter = false;
  std::optional<LayerRow> step;
};
struct BisectOptions {
  const ModelOptions& model;
  const DeviceOptions& device;
  MatchOptions match;
  uint64_t limit_bytes;
};
// `original` is the model uncompiled, `inputs` are its inputs and `expected` its outputs.
Result<BisectOutcome> bisect_model(const Side& original, std::span<const ir::Datum> inputs,
                                   std::span<const NamedOutput> expected, const BisectOptions& options);

Json bisect_json(const BisectOutcome& outcome);
std::vector<std::string> bisect_lines(const BisectOutcome& outcome);

}  // namespace tutti::app
