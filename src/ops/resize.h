// Resize in every mode of ONNX.
#pragma once

#include <array>

#include "ir/op_def.h"

namespace tutti::ops {

enum class ResizeCoordinates : uint8_t {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kTfCropAndResize,
  kTfHalfPixelForNn,
};
inline constexpr std::array<std::string_view, 7> kResizeCoordinatesNames{
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",  "align_corners",
    "asymmetric", "tf_crop_and_resize",   "tf_half_pixel_for_nn"};
enum class ResizeMode : uint8_t { kNearest, kLinear, kCubic };
inline constexpr std::array<std::string_view, 3> kResizeModeNames{"nearest", "linear", "cubic"};
enum class NearestMode : uint8_t { kRoundPreferFloor, kRoundPreferCeil, kFloor, kCeil };
inline constexpr std::array<std::string_view, 4> kNearestModeNames{"round_prefer_floor", "round_prefer_ceil", "floor",
                                                                   "ceil"};
enum class AspectPolicy : uint8_t { kStretch, kNotLarger, kNotSmaller };
inline constexpr std::array<std::string_view, 3> kAspectPolicyNames{"stretch", "not_larger", "not_smaller"};

struct ResizeAttrs : ir::AttrsOf<ResizeAttrs> {
  bool antialias = false, exclude_outside = false;
  std::vector<int64_t> axes;  // empty: all
  ResizeCoordinates coordinate_transformation_mode = ResizeCoordinates::kHalfPixel;
  float cubic_coeff_a = -0.75f, extrapolation_value = 0;
  AspectPolicy keep_aspect_ratio_policy = AspectPolicy::kStretch;
  ResizeMode mode = ResizeMode::kNearest;
  NearestMode nearest_mode = NearestMode::kRoundPreferFloor;
  void fields(ir::FieldVisitor& v) {
    v.field("antialias", antialias);
    v.field("axes", axes);
    v.choice("coordinate_transformation_mode", coordinate_transformation_mode, kResizeCoordinatesNames);
    v.field("cubic_coeff_a", cubic_coeff_a);
    v.field("exclude_outside", exclude_outside);
    v.field("extrapolation_value", extrapolation_value);
    v.choice("keep_aspect_ratio_policy", keep_aspect_ratio_policy, kAspectPolicyNames);
    v.choice("mode", mode, kResizeModeNames);
    v.choice("nearest_mode", nearest_mode, kNearestModeNames);
  }
};

extern const ir::OpDef kResize;  // X, roi?, scales?, sizes?

// One axis at concrete extents. `width` is the length of the output before it was made a whole number.
struct ResizeAxis {
  int64_t in = 0, out = 0;
  double scale = 1, width = 0, roi_start = 0, roi_end = 1;
};
// Where output position `o` lies in the input.
double source_position(const ResizeAttrs& attrs, const ResizeAxis& axis, int64_t o);
// The input position that nearest mode takes, inside [0, in).
int64_t nearest_position(const ResizeAttrs& attrs, const ResizeAxis& axis, int64_t o);

}  // namespace tutti::ops
