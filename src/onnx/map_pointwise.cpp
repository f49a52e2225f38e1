// Element by element: arithmetic, comparison, logic, activations, casts.
#include "onnx/map.h"

namespace tutti::onnx {
namespace {

using ir::DType;
using ir::ValueId;

// The right operand of an opset 1 to 6 binary operator, shaped so that trailing-dimension broadcasting does what `axis`
// asked for: dimensions of size 1 are appended until B's last dimension stands over A's dimension axis + rank(B) - 1.
Result<ValueId> legacy_operand(NodeBuilder& node) {
  const bool broadcast = node.attrs.take<int64_t>("broadcast").value_or(0) != 0;
  const auto axis = node.attrs.take<int64_t>("axis");
  if (!broadcast || !axis) return node.input(1);
  const int64_t left = TUTTI_TRY(node.known_rank(0)), right = TUTTI_TRY(node.known_rank(1));
  const int64_t first = *axis < 0 ? *axis + left : *axis;
  const int64_t missing = left - first - right;
  if (first < 0 || missing < 0)
    return make_error(Code::kInvalidModel,
                      "attribute 'axis': found {}, expected an axis at which rank {} fits into rank {}", *axis, right,
                      left);
  if (missing == 0) return node.input(1);
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < missing; ++i) axes.push_back(right + i);
  return node.add("Unsqueeze", {node.input(1), node.ints(axes)});
}

Status legacy_binary(NodeBuilder& node) {
  node.attrs.erase("consumed_inputs");
  const ValueId right = TUTTI_TRY(legacy_operand(node));
  return node.finish(node.op_type(), {node.input(0), right});
}

Status legacy_unary(NodeBuilder& node) {
  node.attrs.erase("consumed_inputs");
  return direct(node);
}

// The first version's default constants had fewer digits.
Status selu_1(NodeBuilder& node) {
  if (!node.attrs.has("alpha")) node.attrs.set("alpha", 1.6732f);
  if (!node.attrs.has("gamma")) node.attrs.set("gamma", 1.0507f);
  return legacy_unary(node);
}

// Before opset 7 a slope of rank 1 belonged to the channels.
Status prelu_1(NodeBuilder& node) {
  node.attrs.erase("consumed_inputs");
  const int64_t rank = TUTTI_TRY(node.known_rank(0)), slope_rank = TUTTI_TRY(node.known_rank(1));
  if (slope_rank != 1 || rank <= 2) return direct(node);
  std::vector<int64_t> axes;
  for (int64_t i = 1; i <= rank - 2; ++i) axes.push_back(i);
  const ValueId slope = TUTTI_TRY(node.add("Unsqueeze", {node.input(1), node.ints(axes)}));
  return node.finish("PRelu", {node.input(0), slope});
}

// Before opset 11 the bounds were attributes.
Status clip_with_attributes(NodeBuilder& node) {
  node.attrs.erase("consumed_inputs");
  std::vector<ValueId> inputs{node.input(0), ir::kNoValue, ir::kNoValue};
  TUTTI_TRY(node.require_inputs({0}));
  const DType dtype = node.input_type(0).dtype;
  if (const auto min = node.attrs.take<float>("min")) inputs[1] = node.number(dtype, *min);
  if (const auto max = node.attrs.take<float>("max")) inputs[2] = node.number(dtype, *max);
  return node.finish("Clip", std::move(inputs));
}

// The first version named the type.
Status cast_with_name(NodeBuilder& node) {
  const auto name = node.attrs.take<std::string>("to");
  pb::TensorProto::DataType type{};
  if (!name || !pb::TensorProto::DataType_Parse(*name, &type))
    return make_error(Code::kInvalidModel, "attribute 'to': found '{}', expected the name of an element type",
                      name.value_or("nothing"));
  node.attrs.set("to", static_cast<int64_t>(type));
  return direct(node);
}

// Before opset 12 the ratio was an attribute and inference the only mode that makes sense here; the mask was of the
// data's type up to opset 9.
Status dropout_with_attributes(NodeBuilder& node) {
  constexpr int64_t kBoolMaskSince = 10;
  node.attrs.erase("consumed_inputs");
  node.attrs.erase("is_test");
  const float ratio = node.attrs.take<float>("ratio").value_or(0.5f);
  const std::vector<ValueId> inputs{node.input(0), node.number(DType::kFloat32, ratio)};
  if (node.opset() < kBoolMaskSince && node.wants_output(1))
    return Error(Code::kUnsupported, "the numeric mask of Dropout (before opset 10) is not converted",
                 "remove the mask output, or convert the model to opset 12");
  return node.finish("Dropout", inputs);
}

constexpr MapRow kRows[] = {
    {"Add", 1, legacy_binary},
    {"Add", 7, direct},
    {"Sub", 1, legacy_binary},
    {"Sub", 7, direct},
    {"Mul", 1, legacy_binary},
    {"Mul", 7, direct},
    {"Div", 1, legacy_binary},
    {"Div", 7, direct},
    {"Pow", 1, legacy_binary},
    {"Pow", 7, direct},
    {"And", 1, legacy_binary},
    {"And", 7, direct},
    {"Or", 1, legacy_binary},
    {"Or", 7, direct},
    {"Xor", 1, legacy_binary},
    {"Xor", 7, direct},
    {"Equal", 1, legacy_binary},
    {"Equal", 7, direct},
    {"Greater", 1, legacy_binary},
    {"Greater", 7, direct},
    {"Less", 1, legacy_binary},
    {"Less", 7, direct},
    {"GreaterOrEqual", 12, direct},
    {"LessOrEqual", 12, direct},
    {"Mod", 10, direct},
    {"BitShift", 11, direct},
    {"BitwiseAnd", 18, direct},
    {"BitwiseOr", 18, direct},
    {"BitwiseXor", 18, direct},
    {"BitwiseNot", 18, direct},
    {"Not", 1, direct},
    {"Where", 9, direct},
    {"Sum", 1, legacy_unary},
    {"Max", 1, legacy_unary},
    {"Min", 1, legacy_unary},
    {"Mean", 1, legacy_unary},
    {"Abs", 1, legacy_unary},
    {"Ceil", 1, legacy_unary},
    {"Floor", 1, legacy_unary},
    {"Neg", 1, legacy_unary},
    {"Exp", 1, legacy_unary},
    {"Log", 1, legacy_unary},
    {"Sqrt", 1, legacy_unary},
    {"Reciprocal", 1, legacy_unary},
    {"Relu", 1, legacy_unary},
    {"Sigmoid", 1, legacy_unary},
    {"Tanh", 1, legacy_unary},
    {"Elu", 1, legacy_unary},
    {"LeakyRelu", 1, legacy_unary},
    {"HardSigmoid", 1, legacy_unary},
    {"Selu", 1, selu_1},
    {"Selu", 6, direct},
    {"PRelu", 1, prelu_1},
    {"PRelu", 7, direct},
    {"Softplus", 1, direct},
    {"Softsign", 1, direct},
    {"Celu", 12, direct},
    {"Gelu", 20, direct},
    {"Mish", 18, direct},
    {"HardSwish", 14, direct},
    {"Swish", 24, direct},
    {"Shrink", 9, direct},
    {"ThresholdedRelu", 10, direct},
    {"Acos", 7, direct},
    {"Acosh", 9, direct},
    {"Asin", 7, direct},
    {"Asinh", 9, direct},
    {"Atan", 7, direct},
    {"Atanh", 9, direct},
    {"Cos", 7, direct},
    {"Cosh", 9, direct},
    {"Sin", 7, direct},
    {"Sinh", 9, direct},
    {"Tan", 7, direct},
    {"Erf", 9, direct},
    {"Sign", 9, direct},
    {"Round", 11, direct},
    {"IsInf", 10, direct},
    {"IsNaN", 9, direct},
    {"Clip", 1, clip_with_attributes},
    {"Clip", 11, direct},
    {"Identity", 1, direct},
    {"Cast", 1, cast_with_name},
    {"Cast", 6, direct},
    {"CastLike", 15, direct},
    {"BitCast", 26, direct},
    {"Dropout", 1, dropout_with_attributes},
    {"Dropout", 12, direct},
};

}  // namespace

std::span<const MapRow> pointwise_rows() { return kRows; }

}  // namespace tutti::onnx
