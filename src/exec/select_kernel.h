// Picks the implementation of one node at concrete shapes.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exec/specialise.h"

namespace tutti::exec {

struct Selection {
  const backend::KernelDef* def = nullptr;  // null: the reference kernel
  std::unique_ptr<const backend::Kernel> kernel;
  std::vector<std::pair<std::string, std::string>> refusals;
};

// The chosen kernel first, then the backend's list in its order. A kernel that fails to prepare counts as a refusal.
Selection select_kernel(const backend::KernelQuery& query, const std::string& node_name,
                        const Environment& environment);

}  // namespace tutti::exec
