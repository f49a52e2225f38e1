#include "ops/broadcast.h"

#include "base/error.h"

namespace tutti::ops {

using ir::Dims;

Dims broadcast_strides(const Dims& dims, const Dims& out) {
  TUTTI_CHECK(dims.size() <= out.size());
  const Dims own = ir::row_major_strides(dims);
  Dims strides(out.size(), 0);
  const size_t shift = out.size() - dims.size();
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] != 1) strides[i + shift] = own[i];
  return strides;
}

StridedWalk::StridedWalk(const Dims& dims, std::vector<Dims> strides) : strides_(strides.size()) {
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] == 0) empty_ = true;
    if (dims[axis] == 1) continue;
    // The previous axis continues this one for every operand: (a, b) with stride(a) == b * stride(b) is one axis of
    // a*b.
    bool merge = !dims_.empty();
    for (size_t i = 0; merge && i < strides.size(); ++i) merge = strides_[i].back() == strides[i][axis] * dims[axis];
    if (merge)
      dims_.back() *= dims[axis];
    else
      dims_.push_back(dims[axis]);
    for (size_t i = 0; i < strides.size(); ++i) {
      if (merge)
        strides_[i].back() = strides[i][axis];
      else
        strides_[i].push_back(strides[i][axis]);
    }
  }
  if (dims_.empty()) {
    dims_.push_back(1);
    for (Dims& operand : strides_) operand.push_back(0);
  }
}

StridedWalk StridedWalk::broadcast(const Dims& out, std::initializer_list<const Dims*> operands) {
  return broadcast(out, std::vector<const Dims*>(operands));
}

StridedWalk StridedWalk::broadcast(const Dims& out, const std::vector<const Dims*>& operands) {
  std::vector<Dims> strides;
  for (const Dims* dims : operands) strides.push_back(broadcast_strides(*dims, out));
  return {out, std::move(strides)};
}

bool next_index(Dims& index, const Dims& dims) {
  for (size_t axis = dims.size(); axis-- > 0;) {
    if (++index[axis] < dims[axis]) return true;
    index[axis] = 0;
  }
  return false;
}

}  // namespace tutti::ops
