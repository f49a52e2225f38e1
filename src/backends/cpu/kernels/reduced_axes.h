// Which axes a Reduce* node folds.
#pragma once

#include "backends/cpu/kernels/common.h"

namespace tutti::cpu {

// One flag per axis of the input; nothing when the axes are not known before the run. None is set when nothing is
// reduced.
std::optional<std::vector<bool>> reduced_axes(const KernelQuery& query);

}  // namespace tutti::cpu
