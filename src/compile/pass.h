// What a pass is: a named function from graph to graph that keeps every output's meaning.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "base/error.h"
#include "ir/graph.h"

namespace tutti::compile {

// What a pass may know beyond the graph.
struct PassContext {
  int64_t patch_limit = INT64_MAX;            // how many patches this pass may still apply
  const backend::Backend* backend = nullptr;  // null: no device is known yet
};

struct PassStats {
  int64_t patches = 0;
  std::vector<std::pair<std::string, int64_t>> by_rule;
  std::vector<std::pair<std::string, std::string>> declined;  // nodes that looked like the pass's work, and why not
};

struct Pass {
  std::string_view name;
  Result<PassStats> (*run)(ir::Graph& graph, PassContext& context);
};

}  // namespace tutti::compile
