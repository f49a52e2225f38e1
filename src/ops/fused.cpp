#include "ops/fused.h"

#include "ir/tensor.h"
#include "ops/fused_build.h"
#include "ops/op_list.h"

namespace tutti::ops {

using ir::ValueId;

ExpansionBuilder::ExpansionBuilder(const ir::ExpandQuery& query) {
  for (const ir::ValueType& type : query.inputs) {
    const bool present = type.dtype != ir::DType::kUndefined;
    inputs_.push_back(present ? builder_.input(fmt::format("in{}", inputs_.size()), type) : ir::kNoValue);
  }
}

ValueId ExpansionBuilder::node(std::string_view op, std::vector<ValueId> inputs,
                               std::initializer_list<ir::AttrField> attrs) {
  if (error_) return ir::kNoValue;
  const ir::OpDef* def = find_op(op);
  if (def == nullptr) {
    error_ = make_error(Code::kInternal, "an expansion needs the operator {}, which is not in the list", op);
    return ir::kNoValue;
  }
  Result<ir::Attrs> filled = ir::make_attrs_of(*def, attrs);
  if (!filled.ok()) {
    error_ = filled.take_error();
    return ir::kNoValue;
  }
  return builder_.node(*def, std::move(inputs), std::move(*filled));
}

ValueId ExpansionBuilder::scalar(ir::DType dtype, double value) {
  ir::Tensor tensor = ir::Tensor::allocate(dtype, {});
  tensor.set_double(0, value);
  return builder_.constant(std::move(tensor));
}

ValueId ExpansionBuilder::activate(ValueId x, Activation activation, float alpha, float beta) {
  if (x == ir::kNoValue) return x;
  const ir::DType dtype = dtype_of(x);
  switch (activation) {
    case Activation::kNone: return x;
    case Activation::kRelu: return node("Relu", {x});
    case Activation::kClip: return node("Clip", {x, scalar(dtype, alpha), scalar(dtype, beta)});
    case Activation::kHardSwish: return node("HardSwish", {x});
    case Activation::kHardSigmoid: return node("HardSigmoid", {x}, {{"alpha", alpha}, {"beta", beta}});
    case Activation::kSigmoid: return node("Sigmoid", {x});
    case Activation::kSilu: return node("Mul", {x, node("Sigmoid", {x})});
    case Activation::kLeakyRelu: return node("LeakyRelu", {x}, {{"alpha", alpha}});
    case Activation::kGeluErf: return node("Gelu", {x});
    case Activation::kGeluTanh: return node("Gelu", {x}, {{"approximate", std::string("tanh")}});
    case Activation::kTanh: return node("Tanh", {x});
    case Activation::kElu: return node("Elu", {x}, {{"alpha", alpha}});
    case Activation::kQuickGelu: return node("Mul", {x, node("Sigmoid", {node("Mul", {x, scalar(dtype, alpha)})})});
  }
  return x;
}

Result<ir::Graph> ExpansionBuilder::finish(ValueId output) && {
  if (error_) return *std::move(error_);
  builder_.output("out", output);
  return std::move(builder_).finish();
}

Status infer_by_expansion(ir::InferContext& context) {
  std::vector<ir::ValueType> types(static_cast<size_t>(context.input_count()));
  for (int i = 0; i < context.input_count(); ++i)
    if (context.has_input(i)) types[static_cast<size_t>(i)] = context.input(i);
  const ir::Node& node = context.node();
  const ir::Graph expansion = TUTTI_TRY(node.op->expand({node.attrs, types, context.output_count()}));
  for (int i = 0; i < context.output_count() && i < static_cast<int>(expansion.outputs().size()); ++i)
    context.set_output(i, expansion.value(expansion.outputs()[static_cast<size_t>(i)].value).type);
  return ok_status();
}

}  // namespace tutti::ops
