// Operands broadcast to one shape, walked in runs that may start anywhere, so that threads can share the walk.
#pragma once

#include "backends/cpu/kernels/common.h"

namespace tutti::cpu {

// Neighbouring axes that every operand crosses in the same way are merged. Immutable.
class BroadcastPlan {
 public:
  BroadcastPlan(const Dims& out, const std::vector<Dims>& operands);
  // Operands of any strides (in elements), per axis of `out`.
  static BroadcastPlan strided(const Dims& out, std::vector<Dims> strides);

  int64_t count() const { return count_; }
  int64_t run_length() const { return dims_.back(); }
  int64_t inner_stride(size_t operand) const { return strides_[operand].back(); }

  // f(position, length, offsets) for runs that cover elements [begin, end); offsets per operand, in elements.
  template <class F>
  void for_range(int64_t begin, int64_t end, F&& f) const;

 private:
  BroadcastPlan() = default;
  void merge();
  static constexpr size_t kMaxOperands = 8;

  Dims dims_;
  std::vector<Dims> strides_;  // [operand][axis]
  int64_t count_ = 0;
};

template <class F>
void BroadcastPlan::for_range(int64_t begin, int64_t end, F&& f) const {
  const size_t axes = dims_.size();
  const int64_t inner = dims_.back();
  int64_t offsets[kMaxOperands];
  while (begin < end) {
    int64_t rest = begin / inner, at = begin % inner;
    int64_t runs = axes > 1 ? dims_[axes - 2] - rest % dims_[axes - 2] : 1;  // until an outer axis moves
    for (size_t o = 0; o < strides_.size(); ++o) offsets[o] = at * strides_[o].back();
    for (size_t axis = axes - 1; axis-- > 0;) {
      const int64_t index = rest % dims_[axis];
      rest /= dims_[axis];
      for (size_t o = 0; o < strides_.size(); ++o) offsets[o] += index * strides_[o][axis];
    }
    for (; runs > 0 && begin < end; --runs) {
      const int64_t length = std::min(inner - at, end - begin);
      f(begin, length, static_cast<const int64_t*>(offsets));
      begin += length;
      if (axes > 1)
        for (size_t o = 0; o < strides_.size(); ++o) offsets[o] += strides_[o][axes - 2] - at * strides_[o].back();
      at = 0;
    }
  }
}

}  // namespace tutti::cpu
