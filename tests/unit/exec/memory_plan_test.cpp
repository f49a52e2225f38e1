#include "exec/memory_plan.h"

#include <gtest/gtest.h>

#include <random>

namespace tutti::exec {
namespace {

bool live_together(const LiveRange& a, const LiveRange& b) { return a.first <= b.last && b.first <= a.last; }

// Names the first pair that overlaps in time and space.
void expect_valid(const std::vector<LiveRange>& ranges, const MemoryPlan& plan) {
  ASSERT_EQ(plan.offsets.size(), ranges.size());
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].size_bytes == 0) continue;
    ASSERT_EQ(plan.offsets[i] % kBufferAlignment, 0u);
    ASSERT_LE(plan.offsets[i] + ranges[i].size_bytes, plan.total_bytes);
    for (size_t k = 0; k < i; ++k) {
      if (ranges[k].size_bytes == 0 || !live_together(ranges[i], ranges[k])) continue;
      ASSERT_TRUE(plan.offsets[i] >= plan.offsets[k] + ranges[k].size_bytes ||
                  plan.offsets[k] >= plan.offsets[i] + ranges[i].size_bytes)
          << "buffers " << k << " and " << i;
    }
  }
  ASSERT_GE(plan.total_bytes, plan.lower_bound_bytes);
}

// Lifetimes as networks have them: most results are read soon, some are kept for a skip connection.
std::vector<LiveRange> random_network(std::mt19937_64& random) {
  const int steps = std::uniform_int_distribution<int>(1, 400)(random);
  std::vector<LiveRange> out;
  for (int step = 0; step < steps; ++step) {
    const int reach = random() % 8 == 0 ? std::uniform_int_distribution<int>(1, 30)(random) : 1;
    const size_t size = static_cast<size_t>(1) << std::uniform_int_distribution<int>(4, 20)(random);
    out.push_back({size + random() % size, step, std::min(step + reach, steps)});
  }
  return out;
}

TEST(MemoryPlan, places_nothing_in_no_memory) {
  const MemoryPlan plan = plan_memory({});
  EXPECT_EQ(plan.total_bytes, 0u);
  EXPECT_EQ(plan.lower_bound_bytes, 0u);
}

TEST(MemoryPlan, gives_a_chain_two_alternating_places) {
  std::vector<LiveRange> ranges;
  for (int32_t step = 0; step < 10; ++step) ranges.push_back({1000, step, step + 1});
  const MemoryPlan plan = plan_memory(ranges);
  expect_valid(ranges, plan);
  EXPECT_EQ(plan.total_bytes, 2 * align_up(1000, kBufferAlignment));
  EXPECT_EQ(plan.total_bytes, plan.lower_bound_bytes);
}

TEST(MemoryPlan, puts_a_buffer_into_the_smallest_gap_that_fits) {
  // Two gaps are free at step 2: 128 and 64 bytes wide.
  const std::vector<LiveRange> ranges{{4096, 0, 4}, {128, 0, 1}, {2048, 0, 4}, {64, 0, 1}, {1024, 0, 4}, {64, 2, 3}};
  const MemoryPlan plan = plan_memory(ranges);
  expect_valid(ranges, plan);
  EXPECT_EQ(plan.total_bytes, plan.lower_bound_bytes);
}

TEST(MemoryPlan, gives_empty_buffers_no_room) {
  const std::vector<LiveRange> ranges{{0, 0, 5}, {64, 0, 5}, {0, 2, 2}};
  EXPECT_EQ(plan_memory(ranges).total_bytes, 64u);
}

TEST(MemoryPlan, never_overlaps_live_buffers_and_stays_near_the_lower_bound) {
  double excess = 0;
  constexpr int kTrials = 200;
  for (uint64_t seed = 0; seed < kTrials; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const std::vector<LiveRange> ranges = random_network(random);
    const MemoryPlan plan = plan_memory(ranges);
    expect_valid(ranges, plan);
    if (::testing::Test::HasFatalFailure()) return;
    const double over = static_cast<double>(plan.total_bytes) / static_cast<double>(plan.lower_bound_bytes) - 1;
    EXPECT_LT(over, 0.25);
    excess += over;
  }
  EXPECT_LT(excess / kTrials, 0.03);
}

TEST(MemoryPlan, is_the_same_each_time) {
  std::mt19937_64 random(7);
  const std::vector<LiveRange> ranges = random_network(random);
  EXPECT_EQ(plan_memory(ranges).offsets, plan_memory(ranges).offsets);
}

TEST(MemoryPlan, a_fan_of_thousands_is_placed_in_time_order) {
  std::mt19937_64 random(5);
  std::vector<LiveRange> ranges;
  for (int32_t step = 0; step < 8000; ++step)
    ranges.push_back({64 + random() % 4096, step, 8000 + static_cast<int32_t>(random() % 4000)});
  for (int32_t step = 8000; step < 12000; ++step) ranges.push_back({64 + random() % 4096, step, step + 1});
  const MemoryPlan plan = plan_memory(ranges);
  expect_valid(ranges, plan);
  EXPECT_LE(plan.total_bytes, plan.lower_bound_bytes + plan.lower_bound_bytes / 20);
}

}  // namespace
}  // namespace tutti::exec
