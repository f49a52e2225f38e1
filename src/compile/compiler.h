// From a typed graph to an optimised one: the ordered passes, with their report.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compile/pass.h"

namespace tutti::compile {

struct CompileOptions {
  std::vector<std::string> disabled_passes;  // --disable-pass NAME; an unknown name is an error that lists the names
  int64_t stop_after_patch = INT64_MAX;      // --stop-after-patch N: over all passes, for bisecting
  std::string dump_ir;        // --dump-ir DIR: the graph's text before the first and after each pass; empty: none
  bool verify_passes = true;  // check the whole graph after each pass
  const backend::Backend* backend = nullptr;  // what passes may ask
};

// One pass as it ran.
struct PassReport {
  std::string name;
  double milliseconds = 0;
  int64_t patches = 0;
  int64_t nodes_before = 0, nodes_after = 0;
  std::vector<std::pair<std::string, int64_t>> by_rule;
  std::vector<std::pair<std::string, std::string>> declined;  // nodes that nearly fitted, and why they did not
};

struct CompileReport {
  std::vector<PassReport> passes;
  int64_t patches = 0;
};

// The ordered list; a name may stand in it more than once.
std::span<const Pass> pipeline();

// Runs the pipeline over a graph whose types are inferred. On an error, which names the pass, the graph is not usable.
// `report` may be null.
Status optimize(ir::Graph& graph, const CompileOptions& options, CompileReport* report);
// The same with another list; for tests.
Status run_passes(ir::Graph& graph, std::span<const Pass> passes, const CompileOptions& options, CompileReport* report);

}  // namespace tutti::compile
