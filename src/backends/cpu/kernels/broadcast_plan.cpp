#include "backends/cpu/kernels/broadcast_plan.h"

#include "ops/broadcast.h"

namespace tutti::cpu {

BroadcastPlan::BroadcastPlan(const Dims& out, const std::vector<Dims>& operands) : dims_(out) {
  for (const Dims& dims : operands) strides_.push_back(ops::broadcast_strides(dims, out));
  merge();
}

BroadcastPlan BroadcastPlan::strided(const Dims& out, std::vector<Dims> strides) {
  BroadcastPlan plan;
  plan.dims_ = out;
  plan.strides_ = std::move(strides);
  plan.merge();
  return plan;
}

void BroadcastPlan::merge() {
  count_ = product(dims_);
  TUTTI_CHECK(strides_.size() <= kMaxOperands);
  Dims dims;
  std::vector<Dims> strides(strides_.size());
  for (size_t axis = 0; axis < dims_.size(); ++axis) {
    if (dims_[axis] == 1) continue;
    bool joins = !dims.empty();
    for (size_t o = 0; joins && o < strides.size(); ++o) joins = strides[o].back() == strides_[o][axis] * dims_[axis];
    if (joins) {
      dims.back() *= dims_[axis];
      for (size_t o = 0; o < strides.size(); ++o) strides[o].back() = strides_[o][axis];
    } else {
      dims.push_back(dims_[axis]);
      for (size_t o = 0; o < strides.size(); ++o) strides[o].push_back(strides_[o][axis]);
    }
  }
  if (dims.empty()) {
    dims.push_back(1);
    for (Dims& s : strides) s.push_back(0);
  }
  dims_ = std::move(dims);
  strides_ = std::move(strides);
}

}  // namespace tutti::cpu
