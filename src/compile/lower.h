// The last step of compiling: a Graph becomes a Plan.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "engine/plan.h"

namespace tutti::compile {

struct LowerOptions {
  engine::KernelChoices kernels;  // measured or forced choices
  std::map<std::string, std::string> provenance;
};

// Takes the graph, removes what nobody needs, gives every node a name of its own (choices, profiles and reports go by
// it) and checks the result. Constants keep their storage: nothing is copied. Stages, kernels and memory depend on
// shapes and are settled when the plan runs.
Result<engine::PlanPtr> lower(ir::Graph graph, LowerOptions options = {});

}  // namespace tutti::compile
