#include "exec/memory_plan.h"

#include <algorithm>
#include <numeric>

namespace tutti::exec {
namespace {

// The placed buffers by time: those alive at a step (segment tree), and those that start at a step.
class Timeline {
 public:
  explicit Timeline(int32_t steps) : starts_(static_cast<size_t>(steps)) {
    while (leaves_ < static_cast<size_t>(steps)) leaves_ *= 2;
    covering_.resize(2 * leaves_);
  }

  void add(int32_t buffer, const LiveRange& range) {
    starts_[static_cast<size_t>(range.first)].push_back(buffer);
    size_t low = leaves_ + static_cast<size_t>(range.first), high = leaves_ + static_cast<size_t>(range.last) + 1;
    for (; low < high; low /= 2, high /= 2) {
      if (low % 2 == 1) covering_[low++].push_back(buffer);
      if (high % 2 == 1) covering_[--high].push_back(buffer);
    }
  }

  void collect_overlapping(const LiveRange& range, std::vector<int32_t>& into) const {
    into.clear();
    for (size_t node = leaves_ + static_cast<size_t>(range.first); node > 0; node /= 2)
      into.insert(into.end(), covering_[node].begin(), covering_[node].end());
    for (int32_t step = range.first + 1; step <= range.last; ++step) {
      const std::vector<int32_t>& started = starts_[static_cast<size_t>(step)];
      into.insert(into.end(), started.begin(), started.end());
    }
  }

 private:
  size_t leaves_ = 1;
  std::vector<std::vector<int32_t>> covering_;
  std::vector<std::vector<int32_t>> starts_;
};

class Placer {
 public:
  Placer(std::span<const LiveRange> ranges, int32_t steps) : ranges_(ranges), timeline_(steps), offsets_(ranges.size(), 0) {}

  void place(int32_t buffer) {
    const LiveRange& range = ranges_[static_cast<size_t>(buffer)];
    const size_t size = align_up(range.size_bytes, kBufferAlignment);
    if (size == 0) return;
    timeline_.collect_overlapping(range, neighbours_);
    std::sort(neighbours_.begin(), neighbours_.end(),
              [&](int32_t a, int32_t b) { return offsets_[static_cast<size_t>(a)] < offsets_[static_cast<size_t>(b)]; });
    const size_t offset = best_gap(size);
    offsets_[static_cast<size_t>(buffer)] = offset;
    total_ = std::max(total_, offset + size);
    timeline_.add(buffer, range);
  }

  std::vector<size_t>& offsets() { return offsets_; }
  size_t total() const { return total_; }

 private:
  size_t best_gap(size_t size) const {
    size_t best = SIZE_MAX, best_width = SIZE_MAX, end = 0;
    for (const int32_t neighbour : neighbours_) {
      const size_t start = offsets_[static_cast<size_t>(neighbour)];
      if (start > end && start - end >= size && start - end < best_width) {
        best = end;
        best_width = start - end;
      }
      end = std::max(end, start + align_up(ranges_[static_cast<size_t>(neighbour)].size_bytes, kBufferAlignment));
    }
    return best == SIZE_MAX ? end : best;
  }

  std::span<const LiveRange> ranges_;
  Timeline timeline_;
  std::vector<size_t> offsets_;
  std::vector<int32_t> neighbours_;
  size_t total_ = 0;
};

int32_t step_count(std::span<const LiveRange> ranges) {
  int32_t steps = 1;
  for (const LiveRange& range : ranges) steps = std::max(steps, range.last + 1);
  return steps;
}

size_t most_alive(std::span<const LiveRange> ranges, int32_t steps) {
  std::vector<int64_t> change(static_cast<size_t>(steps) + 1, 0);
  for (const LiveRange& range : ranges) {
    const auto size = static_cast<int64_t>(align_up(range.size_bytes, kBufferAlignment));
    change[static_cast<size_t>(range.first)] += size;
    change[static_cast<size_t>(range.last) + 1] -= size;
  }
  int64_t alive = 0, most = 0;
  for (const int64_t delta : change) most = std::max(most, alive += delta);
  return static_cast<size_t>(most);
}

using Order = bool (*)(const LiveRange&, const LiveRange&);

constexpr Order kOrders[] = {
    [](const LiveRange& a, const LiveRange& b) { return a.size_bytes > b.size_bytes; },
    [](const LiveRange& a, const LiveRange& b) { return a.last - a.first > b.last - b.first; },
    [](const LiveRange& a, const LiveRange& b) {
      return static_cast<double>(a.size_bytes) * (a.last - a.first + 1) > static_cast<double>(b.size_bytes) * (b.last - b.first + 1);
    },
    [](const LiveRange& a, const LiveRange& b) { return a.first < b.first; },
};

}  // namespace

MemoryPlan plan_memory(std::span<const LiveRange> ranges) {
  const int32_t steps = step_count(ranges);
  MemoryPlan plan;
  plan.offsets.resize(ranges.size(), 0);
  plan.lower_bound_bytes = most_alive(ranges, steps);
  plan.total_bytes = SIZE_MAX;
  for (const Order& before : kOrders) {
    std::vector<int32_t> order(ranges.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return before(ranges[static_cast<size_t>(a)], ranges[static_cast<size_t>(b)]);
    });
    Placer placer(ranges, steps);
    for (const int32_t buffer : order) placer.place(buffer);
    if (placer.total() < plan.total_bytes) {
      plan.total_bytes = placer.total();
      plan.offsets = std::move(placer.offsets());
    }
    if (plan.total_bytes == plan.lower_bound_bytes) break;
  }
  return plan;
}

}  // namespace tutti::exec
