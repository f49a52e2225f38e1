// Runs cases in child processes, so that one that crashes or hangs is named and costs nothing but itself.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"

namespace tutti::conformance {

struct WorkerOptions {
  int jobs = 1;
  unsigned seconds_per_case = 120;
};

struct Outcome {
  bool passed = false;
  std::string text;  // why not
};

// Calls `run(i)` for each of `count` items, each once, in one of `jobs` children. With one job this process stays
// single-threaded: ThreadSanitizer sees nothing in the children of a process with threads.
std::vector<Outcome> run_isolated(size_t count, const WorkerOptions& options, const std::function<Status(size_t)>& run);

}  // namespace tutti::conformance
