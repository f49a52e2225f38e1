// Constants, and operators that only move or reshape data.
#include "onnx/map.h"

namespace tutti::onnx {
namespace {

using ir::DType;
using ir::Tensor;
using ir::ValueId;
using Ints = std::vector<int64_t>;

Error missing_attribute(std::string_view name) {
  return make_error(Code::kInvalidModel, "attribute '{}': found none, expected a value", name);
}

Tensor text_tensor(ir::Dims dims, std::vector<std::string> values) {
  return Tensor::strings(std::move(dims), std::move(values));
}

// The value of a Constant node; its attributes are alternatives.
Result<Tensor> constant_value(NodeBuilder& node) {
  const AttrMap& attrs = node.attrs;
  if (attrs.entries().size() != 1)
    return make_error(Code::kInvalidModel, "found {} attributes, expected exactly one of value, value_int, ...",
                      attrs.entries().size());
  if (const auto proto = attrs.get<pb::TensorProto*>("value")) return node.read_tensor(**proto);
  if (const auto proto = attrs.get<pb::SparseTensorProto*>("sparse_value")) return node.read_sparse_tensor(**proto);
  if (const auto value = attrs.get<int64_t>("value_int")) return Tensor::scalar(*value);
  if (const auto value = attrs.get<float>("value_float")) return Tensor::scalar(*value);
  if (const auto value = attrs.get<std::string>("value_string")) return text_tensor({}, {*value});
  if (const auto values = attrs.get<Ints>("value_ints"))
    return Tensor::from<int64_t>({static_cast<int64_t>(values->size())}, std::span<const int64_t>(*values));
  if (const auto values = attrs.get<std::vector<float>>("value_floats"))
    return Tensor::from<float>({static_cast<int64_t>(values->size())}, std::span<const float>(*values));
  if (const auto values = attrs.get<std::vector<std::string>>("value_strings"))
    return text_tensor({static_cast<int64_t>(values->size())}, *values);
  return make_error(Code::kInvalidModel,
                    "attribute '{}': found a wrong name or kind, expected one of value, value_int, ...",
                    attrs.entries()[0].first);
}

Status build_constant(NodeBuilder& node) {
  node.set_output(0, node.add_constant(TUTTI_TRY(constant_value(node))));
  return {};
}

// The fill value becomes an input; float 0 unless given.
Status build_constant_of_shape(NodeBuilder& node) {
  Tensor value = Tensor::scalar(0.0f);
  if (const auto proto = node.attrs.take<pb::TensorProto*>("value")) value = TUTTI_TRY(node.read_tensor(**proto));
  if (value.size() != 1)
    return make_error(Code::kInvalidModel, "attribute 'value': found {}, expected one element", value.type_text());
  return node.finish("ConstantOfShape", {node.input(0), node.add_constant(value.reshaped({}))});
}

Status reshape_with_attribute(NodeBuilder& node) {
  node.attrs.erase("consumed_inputs");
  const auto shape = node.attrs.take<Ints>("shape");
  if (!shape) return missing_attribute("shape");
  return node.finish("Reshape", {node.input(0), node.ints(*shape)});
}

// Before opset 13; no axes (of Squeeze) meant all dimensions of size 1, as a missing input does now.
Status axes_attribute_to_input(NodeBuilder& node) {
  const auto axes = node.attrs.take<Ints>("axes");
  if (!axes && node.op_type() == "Unsqueeze") return missing_attribute("axes");
  if (!axes) return direct(node);
  return node.finish(node.op_type(), {node.input(0), node.ints(*axes)});
}

// Before opset 10.
Status slice_with_attributes(NodeBuilder& node) {
  const auto starts = node.attrs.take<Ints>("starts"), ends = node.attrs.take<Ints>("ends"),
             axes = node.attrs.take<Ints>("axes");
  if (!starts || !ends) return missing_attribute(starts ? "ends" : "starts");
  std::vector<ValueId> inputs{node.input(0), node.ints(*starts), node.ints(*ends)};
  if (axes) inputs.push_back(node.ints(*axes));
  return node.finish("Slice", std::move(inputs));
}

// Equal parts, as many as there are outputs, unless sizes are given.
Status split_evenly(NodeBuilder& node) {
  if (!node.has_input(1) && !node.attrs.has("num_outputs"))
    node.attrs.set("num_outputs", static_cast<int64_t>(node.output_count()));
  return direct(node);
}

// Before opset 13 the sizes were an attribute.
Status split_with_attribute(NodeBuilder& node) {
  const auto sizes = node.attrs.take<Ints>("split");
  if (!sizes) return split_evenly(node);
  return node.finish("Split", {node.input(0), node.ints(*sizes)});
}

// Before opset 11 amounts and value were attributes; the very first version had another name for the amounts.
Status pad_with_attributes(NodeBuilder& node) {
  node.attrs.rename("paddings", "pads");
  const auto pads = node.attrs.take<Ints>("pads");
  if (!pads) return missing_attribute("pads");
  TUTTI_TRY(node.require_inputs({0}));
  std::vector<ValueId> inputs{node.input(0), node.ints(*pads)};
  if (const auto value = node.attrs.take<float>("value"); value && *value != 0)
    inputs.push_back(node.number(node.input_type(0).dtype, *value));
  return node.finish("Pad", std::move(inputs));
}

// The first version's axis had a default.
Status concat_1(NodeBuilder& node) {
  if (!node.attrs.has("axis")) node.attrs.set("axis", int64_t{1});
  return direct(node);
}

constexpr MapRow kRows[] = {
    {"Constant", 1, build_constant},
    {"ConstantOfShape", 9, build_constant_of_shape},
    {"Reshape", 1, reshape_with_attribute},
    {"Reshape", 5, direct},
    {"Flatten", 1, direct},
    {"Shape", 1, direct},
    {"Size", 1, direct},
    {"Squeeze", 1, axes_attribute_to_input},
    {"Squeeze", 13, direct},
    {"Unsqueeze", 1, axes_attribute_to_input},
    {"Unsqueeze", 13, direct},
    {"Transpose", 1, direct},
    {"Expand", 8, direct},
    {"Tile", 6, direct},
    {"Concat", 1, concat_1},
    {"Concat", 4, direct},
    {"Slice", 1, slice_with_attributes},
    {"Slice", 10, direct},
    {"Split", 2, split_with_attribute},
    {"Split", 13, split_evenly},
    {"Pad", 1, pad_with_attributes},
    {"Pad", 11, direct},
    {"CenterCropPad", 18, direct},
    {"DepthToSpace", 1, direct},
    {"SpaceToDepth", 1, direct},
    {"ReverseSequence", 10, direct},
    {"Trilu", 14, direct},
    {"EyeLike", 9, direct},
    {"Range", 11, direct},
};

}  // namespace

std::span<const MapRow> shape_rows() { return kRows; }

}  // namespace tutti::onnx
