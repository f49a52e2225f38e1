// A convolution (or pooling window) at concrete shapes, in one form for all kernels.
#pragma once

#include "backends/cpu/kernels/common.h"
#include "ops/fused.h"

namespace tutti::cpu {

// One spatial axis. Input position of output o at tap k: o * stride + k * dilation - pad_begin.
struct WindowAxis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, pad_begin = 0;

  // Outputs [first, last) whose whole window lies inside the input.
  int64_t inner_begin() const { return std::min(out, (pad_begin + stride - 1) / stride); }
  int64_t inner_end() const {
    const int64_t room = in + pad_begin - (kernel - 1) * dilation - 1;
    return std::clamp<int64_t>(room < 0 ? 0 : room / stride + 1, inner_begin(), out);
  }
};

struct ConvShape {
  int64_t batch = 0, channels = 0, filters = 0, group = 1;
  std::vector<WindowAxis> axes;  // one to three
  bool nhwc = false;
  ops::Activation activation = ops::Activation::kNone;
  float alpha = 0, beta = 0;
  bool residual_first = true;

  int64_t group_channels() const { return channels / group; }
  int64_t group_filters() const { return filters / group; }
  int64_t taps() const;
  int64_t in_points() const;
  int64_t out_points() const;
  // With 1-D convolutions as images of height 1.
  WindowAxis height() const { return axes.size() == 2 ? axes[0] : WindowAxis{}; }
  WindowAxis width() const { return axes.back(); }
};

// For Conv, com.microsoft FusedConv without residual, and tutti.FusedConv; nothing when there is an activation that we
// do not know.
std::optional<ConvShape> conv_shape(const KernelQuery& query);

}  // namespace tutti::cpu
