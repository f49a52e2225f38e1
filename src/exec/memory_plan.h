// Places buffers in one arena so that buffers that live at the same time do not overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tutti::exec {

inline constexpr size_t kBufferAlignment = 64;

constexpr size_t align_up(size_t value, size_t alignment) { return (value + alignment - 1) / alignment * alignment; }

// A buffer that is needed from step `first` to step `last`, both included.
struct LiveRange {
  size_t size_bytes = 0;
  int32_t first = 0;
  int32_t last = 0;
};

struct MemoryPlan {
  std::vector<size_t> offsets;   // by buffer; multiples of kBufferAlignment
  size_t total_bytes = 0;        // of the arena
  size_t lower_bound_bytes = 0;  // the most that is alive at one step: no plan can be smaller
};

// Largest first, each into the smallest gap that fits it (best fit); a few orders are tried until one meets the lower
// bound. O(n log n) plus the number of pairs that live together; where those are too many, in the order of time, O(n
// log n). Pure.
MemoryPlan plan_memory(std::span<const LiveRange> ranges);

}  // namespace tutti::exec
