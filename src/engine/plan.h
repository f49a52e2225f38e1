// Plan: a compiled model in its portable form. What depends on a device or on concrete shapes is made from it when it
// runs (src/exec).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace tutti::engine {

// Kernels chosen by node name. A node that is not listed takes the first kernel that supports it.
using KernelChoices = std::map<std::string, std::string>;

// What was measured on one device. `payload` belongs to the backend (compiled code, timings) and is kept as it is.
struct TunedSection {
  std::string device;  // fingerprint
  KernelChoices kernels;
  std::string payload;

  friend bool operator==(const TunedSection&, const TunedSection&) = default;
};

// Immutable once shared. The graph is typed, verified and free of dead nodes; its constants may be views into a mapped
// engine file, which they keep alive.
struct Plan {
  ir::Graph graph;
  KernelChoices kernels;
  std::map<std::string, std::string> provenance;  // source hash, tool and library versions, options
  std::vector<TunedSection> tuned;                // ordered by device, one each

  const TunedSection* tuned_for(const std::string& device) const {
    for (const TunedSection& section : tuned)
      if (section.device == device) return &section;
    return nullptr;
  }
};

using PlanPtr = std::shared_ptr<const Plan>;

}  // namespace tutti::engine
