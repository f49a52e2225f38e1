#include "backends/cpu/kernels/strided_copy.h"

#include <cstring>

namespace tutti::cpu {
namespace {

struct Wide {
  uint64_t low, high;
};

template <class T>
void copy_run(const T* src, int64_t stride, T* dst, int64_t count) {
  if (stride == 1) {
    std::memcpy(dst, src, static_cast<size_t>(count) * sizeof(T));
  } else if (stride == 0) {
    std::fill(dst, dst + count, *src);
  } else {
    for (int64_t i = 0; i < count; ++i) dst[i] = src[i * stride];
  }
}

template <class T>
void copy_typed(ThreadPool& threads, const BroadcastPlan& plan, const T* src, T* dst) {
  const int64_t stride = plan.inner_stride(0);
  const double each = (stride == 1 || stride == 0 ? 0.03 * sizeof(T) : 1.0) +
                      8.0 / static_cast<double>(std::max<int64_t>(1, plan.run_length()));
  split(threads, plan.count(), each, [&](int64_t begin, int64_t end) {
    plan.for_range(begin, end, [&](int64_t at, int64_t length, const int64_t* offsets) {
      copy_run(src + offsets[0], stride, dst + at, length);
    });
  });
}

}  // namespace

void StridedCopy::run(ThreadPool& threads, const void* src, void* dst) const {
  const char* from = static_cast<const char*>(src) + offset_ * static_cast<int64_t>(bytes_);
  switch (bytes_) {
    case 1: return copy_typed(threads, plan_, reinterpret_cast<const uint8_t*>(from), static_cast<uint8_t*>(dst));
    case 2: return copy_typed(threads, plan_, reinterpret_cast<const uint16_t*>(from), static_cast<uint16_t*>(dst));
    case 4: return copy_typed(threads, plan_, reinterpret_cast<const uint32_t*>(from), static_cast<uint32_t*>(dst));
    case 8: return copy_typed(threads, plan_, reinterpret_cast<const uint64_t*>(from), static_cast<uint64_t*>(dst));
    default: return copy_typed(threads, plan_, reinterpret_cast<const Wide*>(from), static_cast<Wide*>(dst));
  }
}

void copy_blocks(ThreadPool& threads, const BlockCopy& shape, const void* src, void* dst) {
  if (shape.bytes == 0) return;
  split(threads, shape.rows, 0.03 * static_cast<double>(shape.bytes) + 5, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      std::memcpy(static_cast<char*>(dst) + static_cast<size_t>(i) * shape.dst_stride,
                  static_cast<const char*>(src) + static_cast<size_t>(i) * shape.src_stride, shape.bytes);
  });
}

}  // namespace tutti::cpu
