#include "ops/suppress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tutti::ops {
namespace {

// What the operator's text says, pair by pair.
std::vector<int64_t> suppress_plainly(const std::vector<Box>& boxes, const std::vector<float>& scores,
                                      const NmsLimits& limits) {
  std::vector<int64_t> order, kept;
  for (size_t i = 0; i < scores.size(); ++i)
    if (!limits.score || scores[i] > *limits.score) order.push_back(static_cast<int64_t>(i));
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return scores[static_cast<size_t>(a)] > scores[static_cast<size_t>(b)];
  });
  for (int64_t i : order) {
    if (static_cast<int64_t>(kept.size()) >= limits.count) break;
    const Box& a = boxes[static_cast<size_t>(i)];
    const bool dropped = std::any_of(kept.begin(), kept.end(), [&](int64_t j) {
      const Box& b = boxes[static_cast<size_t>(j)];
      const float w = std::max(0.0f, std::min(a.x2, b.x2) - std::max(a.x1, b.x1));
      const float h = std::max(0.0f, std::min(a.y2, b.y2) - std::max(a.y1, b.y1));
      const float all = (a.x2 - a.x1) * (a.y2 - a.y1) + (b.x2 - b.x1) * (b.y2 - b.y1) - w * h;
      return (all > 0 ? w * h / all : 0) > limits.iou;
    });
    if (!dropped) kept.push_back(i);
  }
  return kept;
}

void expect_plain_result(float spread, float size, const NmsLimits& limits) {
  std::mt19937 random(static_cast<unsigned>(spread * 10 + size));
  std::uniform_real_distribution<float> place(-spread, spread), extent(0, size), score(0, 1);
  std::vector<Box> boxes;
  std::vector<float> scores;
  for (int i = 0; i < 700; ++i) {
    const float x = place(random), y = place(random);
    boxes.push_back({x, y, x + extent(random), y + extent(random)});
    scores.push_back(score(random));
  }
  EXPECT_EQ(suppress(boxes, scores, limits), suppress_plainly(boxes, scores, limits))
      << "spread " << spread << ", size " << size;
}

TEST(Suppress, keeps_what_the_plain_comparison_of_all_pairs_keeps) {
  for (float iou : {0.0f, 0.3f, 0.7f, -0.1f})
    for (float size : {0.01f, 1.0f, 50.0f}) {
      expect_plain_result(10, size, {.count = 700, .iou = iou});
      expect_plain_result(1000, size, {.count = 30, .iou = iou, .score = 0.4f});
    }
}

TEST(Suppress, takes_boxes_whose_corners_are_not_numbers_or_not_in_order) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<Box> boxes{{0, 0, 1, 1}, {0, 0, infinity, 1}, {1, 1, 0, 0}, {0, 0, 1, 1}};
  const std::vector<float> scores{0.9f, 0.8f, 0.7f, 0.6f};
  EXPECT_EQ(suppress(boxes, scores, {.count = 4, .iou = 0.5f}), (std::vector<int64_t>{0, 1, 2}));
}

}  // namespace
}  // namespace tutti::ops
