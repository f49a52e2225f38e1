#include "exec/memory_plan.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <set>
#include <utility>

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
  Placer(std::span<const LiveRange> ranges, int32_t steps)
      : ranges_(ranges), timeline_(steps), offsets_(ranges.size(), 0) {}

  void place(int32_t buffer) {
    const LiveRange& range = ranges_[static_cast<size_t>(buffer)];
    const size_t size = align_up(range.size_bytes, kBufferAlignment);
    if (size == 0) return;
    timeline_.collect_overlapping(range, neighbours_);
    std::sort(neighbours_.begin(), neighbours_.end(), [&](int32_t a, int32_t b) {
      return offsets_[static_cast<size_t>(a)] < offsets_[static_cast<size_t>(b)];
    });
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
      return static_cast<double>(a.size_bytes) * (a.last - a.first + 1) >
             static_cast<double>(b.size_bytes) * (b.last - b.first + 1);
    },
    [](const LiveRange& a, const LiveRange& b) { return a.first < b.first; },
};

std::vector<int32_t> order_by_start(std::span<const LiveRange> ranges) {
  std::vector<int32_t> order(ranges.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return ranges[static_cast<size_t>(a)].first < ranges[static_cast<size_t>(b)].first;
  });
  return order;
}

using Ending = std::pair<int32_t, int32_t>;  // last step, buffer
using Endings = std::priority_queue<Ending, std::vector<Ending>, std::greater<>>;

// How many pairs of buffers live together; what placing by size costs.
int64_t count_pairs(std::span<const LiveRange> ranges) {
  Endings alive;
  int64_t pairs = 0;
  for (const int32_t buffer : order_by_start(ranges)) {
    const LiveRange& range = ranges[static_cast<size_t>(buffer)];
    while (!alive.empty() && alive.top().first < range.first) alive.pop();
    pairs += static_cast<int64_t>(alive.size());
    alive.push({range.last, buffer});
  }
  return pairs;
}

// The free parts of an arena that grows at its end; neighbours are joined.
class FreeList {
 public:
  size_t take(size_t size) {
    auto found = by_size_.lower_bound({size, 0});
    if (found == by_size_.end()) {
      end_ += size;
      return end_ - size;
    }
    const auto [width, offset] = *found;
    erase(offset, width);
    if (width > size) insert(offset + size, width - size);
    return offset;
  }
  void give(size_t offset, size_t size) {
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && next->first == offset + size) {
      size += next->second;
      erase(next->first, next->second);
    }
    auto before = by_offset_.lower_bound(offset);
    if (before != by_offset_.begin() && (--before)->first + before->second == offset) {
      offset = before->first;
      size += before->second;
      erase(before->first, before->second);
    }
    insert(offset, size);
  }
  size_t end() const { return end_; }

 private:
  void insert(size_t offset, size_t size) {
    by_offset_.emplace(offset, size);
    by_size_.emplace(size, offset);
  }
  void erase(size_t offset, size_t size) {
    by_offset_.erase(offset);
    by_size_.erase({size, offset});
  }
  std::map<size_t, size_t> by_offset_;
  std::set<std::pair<size_t, size_t>> by_size_;
  size_t end_ = 0;
};

// As a heap would: in the order of time, each into the smallest free part that fits. O(n log n) however many live
// together.
void place_in_time(std::span<const LiveRange> ranges, MemoryPlan& plan) {
  FreeList arena;
  Endings alive;
  for (const int32_t buffer : order_by_start(ranges)) {
    const LiveRange& range = ranges[static_cast<size_t>(buffer)];
    for (; !alive.empty() && alive.top().first < range.first; alive.pop()) {
      const auto ended = static_cast<size_t>(alive.top().second);
      arena.give(plan.offsets[ended], align_up(ranges[ended].size_bytes, kBufferAlignment));
    }
    if (range.size_bytes == 0) continue;
    plan.offsets[static_cast<size_t>(buffer)] = arena.take(align_up(range.size_bytes, kBufferAlignment));
    alive.push({range.last, buffer});
  }
  plan.total_bytes = arena.end();
}

constexpr int64_t kMostPairs = 20'000'000;  // a second of work; real networks stay far below

}  // namespace

MemoryPlan plan_memory(std::span<const LiveRange> ranges) {
  const int32_t steps = step_count(ranges);
  MemoryPlan plan;
  plan.offsets.resize(ranges.size(), 0);
  plan.lower_bound_bytes = most_alive(ranges, steps);
  if (count_pairs(ranges) > kMostPairs) {
    place_in_time(ranges, plan);
    return plan;
  }
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
