// Resampling of pictures and regions.
#include "onnx/map.h"

namespace tutti::onnx {
namespace {

using ir::ValueId;

// Upsample and the first Resize: output x comes from input floor(x / scale).
Status as_asymmetric_resize(NodeBuilder& node, ValueId scales) {
  if (const auto mode = node.attrs.get<std::string>("mode"); mode && *mode == "bilinear")
    node.attrs.set("mode", std::string("linear"));
  node.attrs.set("coordinate_transformation_mode", std::string("asymmetric"));
  node.attrs.set("nearest_mode", std::string("floor"));
  return node.finish("Resize", {node.input(0), ir::kNoValue, scales});
}

Status upsample_with_input(NodeBuilder& node) { return as_asymmetric_resize(node, node.input(1)); }

Result<ValueId> scales_constant(NodeBuilder& node, const std::vector<float>& scales) {
  return node.add_constant(
      ir::Tensor::from<float>({static_cast<int64_t>(scales.size())}, std::span<const float>(scales)));
}

Status upsample_with_attribute(NodeBuilder& node) {
  const auto scales = node.attrs.take<std::vector<float>>("scales");
  if (!scales) return make_error(Code::kInvalidModel, "attribute 'scales': found none, expected floats");
  return as_asymmetric_resize(node, TUTTI_TRY(scales_constant(node, *scales)));
}

Status upsample_1(NodeBuilder& node) {
  const float height = node.attrs.take<float>("height_scale").value_or(1),
              width = node.attrs.take<float>("width_scale").value_or(1);
  return as_asymmetric_resize(node, TUTTI_TRY(scales_constant(node, {1, 1, height, width})));
}

bool is_empty(const NodeBuilder& node, int input) {
  if (!node.has_input(input)) return true;
  const auto& shape = node.input_type(input).shape;
  return shape && shape->size() == 1 && (*shape)[0].is(0);
}

// An empty tensor was, and by some exporters still is, how an unused input is written.
Status resize_without_empty_inputs(NodeBuilder& node) {
  std::vector<ValueId> inputs = node.inputs();
  for (int i = 1; i < node.input_count(); ++i)
    if (is_empty(node, i)) inputs[static_cast<size_t>(i)] = ir::kNoValue;
  return node.finish("Resize", std::move(inputs));
}

// Opset 20 generalised the names to any number of dimensions.
Status grid_sample_16(NodeBuilder& node) {
  const std::string mode = node.attrs.get<std::string>("mode").value_or("bilinear");
  node.attrs.set("mode", std::string(mode == "bilinear" ? "linear" : mode == "bicubic" ? "cubic" : mode));
  return direct(node);
}

// Opset 16 shifted the sampling points by half a pixel and made the old way a mode.
Status roi_align_10(NodeBuilder& node) {
  node.attrs.set("coordinate_transformation_mode", std::string("output_half_pixel"));
  return direct(node);
}

constexpr MapRow kRows[] = {
    {"Upsample", 1, upsample_1},
    {"Upsample", 7, upsample_with_attribute},
    {"Upsample", 9, upsample_with_input},
    {"Resize", 10, upsample_with_input},
    {"Resize", 11, resize_without_empty_inputs},
    {"GridSample", 16, grid_sample_16},
    {"GridSample", 20, direct},
    {"AffineGrid", 20, direct},
    {"RoiAlign", 10, roi_align_10},
    {"RoiAlign", 16, direct},
    {"MaxRoiPool", 1, direct},
    {"Col2Im", 18, direct},
    {"ImageDecoder", 20, direct},
};

}  // namespace

std::span<const MapRow> image_rows() { return kRows; }

}  // namespace tutti::onnx
