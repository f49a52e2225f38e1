// Non-maximum suppression over the boxes of one class.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tutti::ops {

struct Box {
  float x1, y1, x2, y2;
};

struct NmsLimits {
  int64_t count = 0;           // boxes kept at most
  float iou = 0;               // a box that overlaps a kept one by more is dropped
  std::optional<float> score;  // only boxes above it are looked at
};

// Indices of the boxes kept, best score first; equal scores by index, NaN last. Cost: the kept boxes times the
// candidates whose stripes of the x axis they reach, so that classes moved apart cost little.
std::vector<int64_t> suppress(std::span<const Box> boxes, std::span<const float> scores, const NmsLimits& limits);

}  // namespace tutti::ops
