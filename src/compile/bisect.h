// Which patch of the passes changes a model's results: a binary search over --stop-after-patch.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compile/compiler.h"

namespace tutti::compile {

struct BisectRequest {
  const ir::Graph& original;  // before any pass
  std::span<const Pass> passes;
  CompileOptions options;  // disabled passes, backend; stop_after_patch bounds the search
  // Whether a graph that some patches were applied to still gives the right results. Must answer alike when asked
  // again.
  std::function<Result<bool>(const ir::Graph& graph)> agrees;
};

// A node that the patch made or took away.
struct ChangedNode {
  std::string name, op;
  std::vector<std::string> origins;  // the model's nodes
};

struct Culprit {
  int64_t patch = 0;          // as --stop-after-patch counts: the results are right after patch - 1, wrong after patch.
                              // 0: wrong before any patch, and the lists below are empty
  std::string pass, rule;     // rule: empty for passes without rules
  int64_t patch_of_pass = 0;  // the same patch, counted within its pass
  std::vector<ChangedNode> made, removed;
  ir::Graph graph;  // after the patch
};

struct BisectReport {
  int64_t patches = 0;             // that all passes apply
  int64_t tries = 0;               // graphs that `agrees` was asked about
  std::optional<Culprit> culprit;  // none: the results are right after all passes
};

// Asks about the whole pipeline, the untouched graph, and then log2(patches) graphs in between. Errors are those of the
// passes and of `agrees`.
Result<BisectReport> bisect_patches(const BisectRequest& request);

// The smallest-interval answer of a binary search: some n in (good, bad] with is_bad(n) and not is_bad(n - 1), given
// not is_bad(good) and is_bad(bad), which are not asked again. More than one such n: any of them.
Result<int64_t> first_bad(int64_t good, int64_t bad, const std::function<Result<bool>(int64_t)>& is_bad);

}  // namespace tutti::compile
