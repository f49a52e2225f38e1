// Walking several tensors of one rank-n index space, each with its own strides (0 where it is broadcast).
#pragma once

#include <initializer_list>
#include <vector>

#include "ir/shape.h"

namespace tutti::ops {

// Row-major strides of `dims` as seen from the broadcast shape `out`: aligned at the last axis, 0 where the dimension
// is 1.
ir::Dims broadcast_strides(const ir::Dims& dims, const ir::Dims& out);

// An index space with per-operand strides. Axes that all operands cross contiguously are merged, so that full and
// scalar operands walk as one run. Immutable.
class StridedWalk {
 public:
  StridedWalk(const ir::Dims& dims, std::vector<ir::Dims> strides);
  // Operands of these dims broadcast to `out`.
  static StridedWalk broadcast(const ir::Dims& out, std::initializer_list<const ir::Dims*> operands);
  static StridedWalk broadcast(const ir::Dims& out, const std::vector<const ir::Dims*>& operands);

  // Calls f(position, count, offsets, strides) for runs along the innermost merged axis: elements
  // position..position+count-1 of the index space in row-major order; operand i reads offsets[i] + k*strides[i]. No
  // call when the space is empty.
  template <class F>
  void for_each_run(F&& f) const;
  // The same with runs cut to at most `limit` elements.
  template <class F>
  void for_each_block(int64_t limit, F&& f) const;

 private:
  ir::Dims dims_;                  // merged; never empty
  std::vector<ir::Dims> strides_;  // [operand][axis]
  bool empty_ = false;
};

// Steps `index` through `dims` in row-major order; false after the last one.
bool next_index(ir::Dims& index, const ir::Dims& dims);

template <class F>
void StridedWalk::for_each_run(F&& f) const {
  if (empty_) return;
  const size_t axes = dims_.size(), operands = strides_.size(), last = axes - 1;
  std::vector<int64_t> offsets(operands, 0), inner(operands);
  for (size_t i = 0; i < operands; ++i) inner[i] = strides_[i][last];
  ir::Dims index(axes, 0);
  int64_t position = 0;
  while (true) {
    f(position, dims_[last], static_cast<const int64_t*>(offsets.data()), static_cast<const int64_t*>(inner.data()));
    position += dims_[last];
    size_t axis = last;
    while (axis > 0) {
      --axis;
      if (++index[axis] < dims_[axis]) {
        for (size_t i = 0; i < operands; ++i) offsets[i] += strides_[i][axis];
        break;
      }
      index[axis] = 0;
      for (size_t i = 0; i < operands; ++i) offsets[i] -= strides_[i][axis] * (dims_[axis] - 1);
      if (axis == 0) return;
    }
    if (last == 0) return;
  }
}

template <class F>
void StridedWalk::for_each_block(int64_t limit, F&& f) const {
  std::vector<int64_t> at(strides_.size());
  for_each_run([&](int64_t position, int64_t count, const int64_t* offsets, const int64_t* strides) {
    for (int64_t begin = 0; begin < count; begin += limit) {
      for (size_t i = 0; i < at.size(); ++i) at[i] = offsets[i] + begin * strides[i];
      f(position + begin, count - begin < limit ? count - begin : limit, static_cast<const int64_t*>(at.data()),
        strides);
    }
  });
}

}  // namespace tutti::ops
