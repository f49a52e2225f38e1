// Runs a stateful model over a sequence: one input is cut along its first axis, and chosen outputs feed inputs of the
// next step.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "runtime/context.h"

namespace tutti::app {

struct SteppingOptions {
  std::string input;  // --steps NAME: [steps, ...], given to the model as [1, ...] per step; empty: one plain run
  std::vector<std::string> carried;  // --carry OUTPUT=INPUT
};

// Outputs that are not carried are joined along their first axis over all steps; carried ones are the last step's.
Result<std::vector<ir::Datum>> run_steps(runtime::ExecutionContext& context, const ir::Graph& graph,
                                         std::vector<ir::Datum> inputs, const SteppingOptions& options);

}  // namespace tutti::app
