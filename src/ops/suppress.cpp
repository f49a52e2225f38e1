#include "ops/suppress.h"

#include <algorithm>
#include <cmath>

namespace tutti::ops {
namespace {

float overlap(const Box& a, const Box& b) {
  const float w = std::max(0.0f, std::min(a.x2, b.x2) - std::max(a.x1, b.x1)),
              h = std::max(0.0f, std::min(a.y2, b.y2) - std::max(a.y1, b.y1));
  const float both = w * h;
  const float all = (a.x2 - a.x1) * (a.y2 - a.y1) + (b.x2 - b.x1) * (b.y2 - b.y1) - both;
  return all > 0 ? both / all : 0.0f;
}

// The kept boxes, each in the stripe of the x axis where it begins, and how far the boxes of a stripe reach. Boxes
// without a common x do not overlap, which decides them unless the limit is below zero.
class KeptBoxes {
 public:
  KeptBoxes(std::span<const Box> boxes, const std::vector<int64_t>& candidates, float limit) : limit_(limit) {
    float low = HUGE_VALF, high = -HUGE_VALF;
    bool regular = limit >= 0;
    for (int64_t i : candidates) {
      const Box& box = boxes[static_cast<size_t>(i)];
      regular = regular && std::isfinite(box.x1) && std::isfinite(box.x2) && box.x1 <= box.x2;
      low = std::min(low, box.x1);
      high = std::max(high, box.x2);
    }
    regular = regular && high > low && std::isfinite(high - low);
    stripes_.resize(regular ? kStripes : 1);
    if (!regular) return;
    low_ = low;
    per_unit_ = static_cast<float>(kStripes) / (high - low);
  }

  bool suppresses(const Box& box) const {
    const size_t last = stripe_of(box.x2);
    for (size_t s = 0; s <= last; ++s) {
      if (stripes_.size() > 1 && stripes_[s].reach < box.x1) continue;
      for (const Box& kept : stripes_[s].boxes)
        if (overlap(box, kept) > limit_) return true;
    }
    return false;
  }
  void add(const Box& box) {
    Stripe& stripe = stripes_[stripe_of(box.x1)];
    stripe.reach = std::max(stripe.reach, box.x2);
    stripe.boxes.push_back(box);
  }

 private:
  static constexpr size_t kStripes = 128;
  struct Stripe {
    float reach = -HUGE_VALF;
    std::vector<Box> boxes;
  };

  // Monotonic in the coordinate.
  size_t stripe_of(float x) const {
    if (stripes_.size() == 1) return 0;
    return static_cast<size_t>(std::clamp((x - low_) * per_unit_, 0.0f, static_cast<float>(kStripes - 1)));
  }

  float limit_;
  float low_ = 0, per_unit_ = 0;
  std::vector<Stripe> stripes_;
};

}  // namespace

std::vector<int64_t> suppress(std::span<const Box> boxes, std::span<const float> scores, const NmsLimits& limits) {
  std::vector<int64_t> order, kept;
  for (size_t i = 0; i < scores.size(); ++i)
    if (!limits.score || scores[i] > *limits.score) order.push_back(static_cast<int64_t>(i));
  const auto score = [&](int64_t i) {
    return std::isnan(scores[static_cast<size_t>(i)]) ? -HUGE_VALF : scores[static_cast<size_t>(i)];
  };
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return score(a) > score(b); });
  KeptBoxes taken(boxes, order, limits.iou);
  for (int64_t candidate : order) {
    if (static_cast<int64_t>(kept.size()) >= limits.count) break;
    const Box& box = boxes[static_cast<size_t>(candidate)];
    if (taken.suppresses(box)) continue;
    taken.add(box);
    kept.push_back(candidate);
  }
  return kept;
}

}  // namespace tutti::ops
