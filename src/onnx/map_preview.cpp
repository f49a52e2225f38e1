// ai.onnx.preview. FlexAttention is written out, its modifiers with it, so that everything that optimises and runs
// attention sees plain operators.
#include <cmath>

#include "onnx/map.h"

namespace tutti::onnx {
namespace {

using ir::Dim;
using ir::DType;
using ir::ValueId;

Status check_operands(const NodeBuilder& node) {
  constexpr std::string_view kNames[] = {"Q", "K", "V"};
  for (int i = 0; i < 3; ++i) {
    const std::string_view name = kNames[i];
    if (!node.has_input(i)) return make_error(Code::kInvalidModel, "{}: found none, expected a value", name);
    const ir::ValueType& type = node.input_type(i);
    if (!ir::is_compute_float(type.dtype) || type.dtype != node.input_type(0).dtype)
      return make_error(Code::kInvalidModel, "{}: found {}, expected a float type, that of Q", name, type.text());
    if (!type.has_rank())
      return make_error(Code::kUnsupported, "{}: found an unknown rank, expected 4", name)
          .with_hint("give the inputs shapes");
    if (type.rank() != 4) return make_error(Code::kInvalidModel, "{}: found {}, expected rank 4", name, type.text());
  }
  const auto dim = [&](int i, size_t axis) { return (*node.input_type(i).shape)[axis]; };
  if (Dim::never_equal(dim(0, 3), dim(1, 3)) || Dim::never_equal(dim(1, 1), dim(2, 1)) ||
      Dim::never_equal(dim(1, 2), dim(2, 2)))
    return make_error(Code::kInvalidModel,
                      "found Q {}, K {}, V {}: expected head sizes of Q and K, and heads and lengths of K and V, alike",
                      node.input_type(0).text(), node.input_type(1).text(), node.input_type(2).text());
  return {};
}

// Each head of an operand [B,M,S,D] as often as there are query heads to share it: [B,N,S,D].
Result<ValueId> repeat_heads(NodeBuilder& node, int input) {
  const Dim heads = (*node.input_type(0).shape)[1], own = (*node.input_type(input).shape)[1];
  if (heads == own) return node.input(input);
  const auto n = heads.constant(), m = own.constant();
  if (!n || !m)
    return make_error(Code::kUnsupported, "found {} and {} heads, expected equal or fixed numbers", heads.text(),
                      own.text());
  if (*m < 1 || *n % *m != 0)
    return make_error(Code::kInvalidModel, "Q has {} heads, expected a multiple of {}", *n, *m);
  const ValueId apart = TUTTI_TRY(node.add("Unsqueeze", {node.input(input), node.ints({2})}));
  const ValueId spread = TUTTI_TRY(node.add("Expand", {apart, node.ints({1, 1, *n / *m, 1, 1})}));
  const ValueId batch = TUTTI_TRY(node.add("Shape", {node.input(input)}, {{"start", int64_t{0}}, {"end", int64_t{1}}}));
  const ValueId rows = TUTTI_TRY(node.add("Shape", {node.input(input)}, {{"start", int64_t{2}}}));
  const ValueId shape = TUTTI_TRY(node.add("Concat", {batch, node.ints({*n}), rows}, {{"axis", int64_t{0}}}));
  return node.add("Reshape", {spread, shape}, {{"allowzero", int64_t{1}}});
}

// The square root of the scale, by which queries and keys are multiplied before their product.
Result<ValueId> root_of_scale(NodeBuilder& node) {
  const DType dtype = node.input_type(0).dtype;
  const auto scale = node.attrs.take<float>("scale");
  const auto size = (*node.input_type(0).shape)[3].constant();
  if (scale || (size && *size > 0))
    return node.number(dtype, std::sqrt(scale ? *scale : 1 / std::sqrt(static_cast<float>(*size))));
  const ValueId length = TUTTI_TRY(node.add("Shape", {node.input(0)}, {{"start", int64_t{3}}}));
  const ValueId real = TUTTI_TRY(node.cast(length, dtype));
  return node.add("Pow", {real, node.number(dtype, -0.25)});
}

// A modifier's result, which has the type and shape of what it was given.
Result<ValueId> modified(NodeBuilder& node, std::string_view attribute, ValueId x) {
  if (!node.attrs.has(attribute)) return x;
  const auto outputs = TUTTI_TRY(node.inline_body(attribute, {x}));
  node.attrs.erase(attribute);
  if (outputs.size() != 1)
    return make_error(Code::kInvalidModel, "body '{}': found {} outputs, expected 1", attribute, outputs.size());
  if (node.tainted()) return outputs[0];
  const ir::ValueType &found = node.type(outputs[0]), &expected = node.type(x);
  bool fits = found.dtype == expected.dtype && (!found.has_rank() || found.rank() == 4);
  for (size_t i = 0; fits && found.has_rank() && i < 4; ++i)
    fits = !Dim::never_equal((*found.shape)[i], (*expected.shape)[i]);
  if (fits) return outputs[0];
  return make_error(Code::kInvalidModel, "body '{}': found an output {}, expected {}", attribute, found.text(),
                    expected.text());
}

// Only looks for operators in the modifiers that cannot be imported.
Status visit_modifiers(NodeBuilder& node) {
  for (const char* attribute : {"score_mod", "prob_mod"})
    if (node.attrs.has(attribute)) TUTTI_TRY(node.inline_body(attribute, {node.input(0)}));
  return {};
}

Status flex_attention(NodeBuilder& node) {
  if (node.tainted()) return visit_modifiers(node);
  TUTTI_TRY(check_operands(node));
  const DType dtype = node.input_type(0).dtype;
  const auto precision = static_cast<DType>(
      node.attrs.take<int64_t>("softmax_precision")
          .value_or(static_cast<int64_t>(dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32)));
  if (!ir::is_compute_float(precision))
    return make_error(Code::kInvalidModel, "attribute 'softmax_precision': found {}, expected a float type's number",
                      static_cast<int>(precision));
  const ValueId root = TUTTI_TRY(root_of_scale(node));
  const ValueId q = TUTTI_TRY(node.add("Mul", {node.input(0), root}));
  const ValueId k = TUTTI_TRY(node.add("Mul", {TUTTI_TRY(repeat_heads(node, 1)), root}));
  const ValueId transposed = TUTTI_TRY(node.add("Transpose", {k}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}}));
  const ValueId products = TUTTI_TRY(node.add("MatMul", {q, transposed}));
  const ValueId scores = TUTTI_TRY(modified(node, "score_mod", TUTTI_TRY(node.cast(products, precision))));
  if (node.tainted()) return visit_modifiers(node);
  const ValueId weights = TUTTI_TRY(node.add("Softmax", {scores}, {{"axis", int64_t{-1}}}));
  const ValueId probabilities = TUTTI_TRY(modified(node, "prob_mod", weights));
  if (node.tainted()) return {};
  const ValueId v = TUTTI_TRY(node.cast(TUTTI_TRY(repeat_heads(node, 2)), precision));
  if (precision == dtype) return node.finish("MatMul", {probabilities, v});
  const ValueId y = TUTTI_TRY(node.add("MatMul", {probabilities, v}));
  node.attrs.set("to", static_cast<int64_t>(dtype));
  return node.finish("Cast", {y});
}

constexpr MapRow kRows[] = {
    {"FlexAttention", 1, flex_attention},
};

}  // namespace

std::span<const MapRow> preview_rows() { return kRows; }

}  // namespace tutti::onnx
