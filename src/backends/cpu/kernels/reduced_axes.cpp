#include "backends/cpu/kernels/reduced_axes.h"

namespace tutti::cpu {

std::optional<std::vector<bool>> reduced_axes(const KernelQuery& query) {
  const size_t rank = query.inputs[0].dims.size();
  std::vector<bool> reduced(rank, false);
  if (query.op.name.starts_with("Global")) {
    for (size_t i = 2; i < rank; ++i) reduced[i] = true;
    return reduced;
  }
  std::vector<int64_t> axes;
  if (query.has_input(1)) {
    if (!query.is_constant(1)) return std::nullopt;
    axes = query.constants[1]->to_int64();
  }
  if (axes.empty()) return std::vector<bool>(rank, !ir::attr_bool(query.attrs, "noop_with_empty_axes"));
  for (int64_t axis : axes) reduced[positive_axis(axis, rank)] = true;
  return reduced;
}

}  // namespace tutti::cpu
