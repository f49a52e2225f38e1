// Verification: the plan runs beside the reference kernels before it is trusted.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/thread_pool.h"
#include "exec/executor.h"
#include "ir/shape_hint.h"

namespace tutti::compile {

enum class VerifyLevel : uint8_t {
  kOff,
  kFast,  // every step is fed the plan's own inputs and compared with its op's reference
  kFull,  // the whole graph too, against the interpreter, at the smallest, the usual and the largest shapes
};
Result<VerifyLevel> parse_verify_level(std::string_view text);
std::string_view verify_level_name(VerifyLevel level);

struct VerifyOptions {
  VerifyLevel level = VerifyLevel::kFast;
  std::vector<ir::ShapeHint> shapes;
  uint64_t seed = 0;
};

// The step with the largest difference from its reference.
struct WorstStep {
  std::string node, op, kernel;
  double max_relative_error = 0, max_absolute_error = 0;
};

struct VerifyReport {
  VerifyLevel level = VerifyLevel::kOff;
  int64_t runs = 0;  // whole runs of the plan
  int64_t steps_checked = 0;
  int64_t sampled_steps = 0;  // heavy steps of which a sample of the outputs was compared
  double seconds = 0;
  std::optional<WorstStep> worst;
};

struct VerifyRequest {
  exec::GraphExecutor& executor;  // of the plan
  const ir::Graph* original =
      nullptr;  // the graph before any pass; needed by kFull, which compares whole outputs with it
  ThreadPool& threads;
};

// Runs the plan on made-up inputs: random and edge values at the smallest shape, random ones at the usual shape (and,
// with kFull, edge values there and both at the largest). A Verification error names the first step that diverges:
// node, op, kernel, element, both values, and the allowed difference.
Result<VerifyReport> verify_plan(const VerifyRequest& request, const VerifyOptions& options);

}  // namespace tutti::compile
