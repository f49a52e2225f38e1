// canonicalize: neutral operations -> their input; one of several ways to write the same -> the usual one. Needs:
// types. Leaves: constants as second operands.
#include <cmath>

#include "compile/passes/match.h"
#include "compile/passes/passes.h"
#include "ir/op_def.h"

namespace tutti::compile {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

bool is_float(const Graph& graph, ValueId value) { return is_compute_float(dtype_of(graph, value)); }

std::optional<ir::Patch> identity(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  return forward(graph, "identity", node, node.inputs[0]);
}

std::optional<ir::Patch> dropout(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.outputs.size() > 1 && node.outputs[1] != ir::kNoValue) return std::nullopt;
  if (has_input(node, 2)) {
    const ir::Tensor* training = constant_of(graph, node.inputs[2]);
    if (!training || training->get_int(0) != 0) return std::nullopt;
  }
  return forward(graph, "dropout", node, node.inputs[0]);
}

// x*1, x/1, x+0, x-0, x^1 -> x, unless broadcasting makes the result larger than x.
std::optional<ir::Patch> neutral(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const bool additive = is_op(node, "Add") || is_op(node, "Sub");
  const auto scalar = scalar_of(graph, node.inputs[1]);
  if (!scalar || *scalar != (additive ? 0.0 : 1.0) || !same_type(graph, node.inputs[0], node.outputs[0]))
    return std::nullopt;
  return forward(graph, "neutral", node, node.inputs[0]);
}

std::optional<ir::Patch> constant_right(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!graph.value(node.inputs[0]).is_constant() || graph.value(node.inputs[1]).is_constant()) return std::nullopt;
  ir::Patch patch(graph, "constant_right");
  patch.replace(node.outputs[0], patch.node(*node.op, {node.inputs[1], node.inputs[0]}, node.attrs));
  return patch;
}

// x - c -> x + (-c): exact for floats.
std::optional<ir::Patch> subtract_constant(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const ir::Tensor* constant = constant_of(graph, node.inputs[1]);
  if (!constant || !is_float(graph, node.inputs[0])) return std::nullopt;
  ir::Tensor negated = constant->clone();
  for (int64_t i = 0; i < negated.size(); ++i) negated.set_double(i, -negated.get_double(i));
  ir::Patch patch(graph, "subtract_constant");
  patch.replace(node.outputs[0], patch.node(op_named("Add"), {node.inputs[0], patch.constant(std::move(negated))}));
  return patch;
}

// x / c -> x * (1/c) where every c is a power of two whose reciprocal is a normal number of the type: exact.
std::optional<ir::Patch> divide_constant(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const ir::Tensor* constant = constant_of(graph, node.inputs[1]);
  if (!constant || !is_float(graph, node.inputs[0])) return std::nullopt;
  ir::Tensor inverse = constant->clone();
  for (int64_t i = 0; i < inverse.size(); ++i) {
    int exponent = 0;
    const double value = constant->get_double(i);
    if (std::abs(std::frexp(value, &exponent)) != 0.5 || std::abs(exponent) > 12) return std::nullopt;
    inverse.set_double(i, 1 / value);
  }
  ir::Patch patch(graph, "divide_constant");
  patch.replace(node.outputs[0], patch.node(op_named("Mul"), {node.inputs[0], patch.constant(std::move(inverse))}));
  return patch;
}

// x^2 -> x*x, x^0.5 -> sqrt(x).
std::optional<ir::Patch> power(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const auto exponent = scalar_of(graph, node.inputs[1]);
  if (!exponent || !is_float(graph, node.inputs[0]) || !same_type(graph, node.inputs[0], node.outputs[0]))
    return std::nullopt;
  ir::Patch patch(graph, "power");
  const ValueId x = node.inputs[0];
  if (*exponent == 2)
    patch.replace(node.outputs[0], patch.node(op_named("Mul"), {x, x}));
  else if (*exponent == 0.5)
    patch.replace(node.outputs[0], patch.node(op_named("Sqrt"), {x}));
  else
    return std::nullopt;
  return patch;
}

// f(f(x)) -> x.
std::optional<ir::Patch> involution(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Node* below = made_by(graph, node.inputs[0], node.op->name);
  if (!below) return std::nullopt;
  return forward(graph, "involution", node, below->inputs[0]);
}

// f(f(x)) -> f(x).
std::optional<ir::Patch> idempotent(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!made_by(graph, node.inputs[0], node.op->name)) return std::nullopt;
  return forward(graph, "idempotent", node, node.inputs[0]);
}

// Sum, Mean, Max, Min of one -> it; Sum of two -> Add.
std::optional<ir::Patch> variadic(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.inputs.size() == 1) return forward(graph, "variadic_of_one", node, node.inputs[0]);
  if (!is_op(node, "Sum") || node.inputs.size() != 2) return std::nullopt;
  ir::Patch patch(graph, "sum_of_two");
  patch.replace(node.outputs[0], patch.node(op_named("Add"), node.inputs));
  return patch;
}

struct Window {
  ir::Dims kernel, strides, dilations;
};

// The pads that SAME_UPPER, SAME_LOWER or VALID stand for; nothing when sizes are unknown.
std::optional<std::vector<int64_t>> explicit_pads(const std::string& mode, const ir::Dims& input, const Window& w) {
  const size_t n = w.kernel.size();
  std::vector<int64_t> pads(2 * n, 0);
  if (mode == "VALID") return pads;
  for (size_t i = 0; i < n; ++i) {
    const int64_t size = input[i + 2], out = (size + w.strides[i] - 1) / w.strides[i];
    const int64_t total =
        std::max<int64_t>(0, (out - 1) * w.strides[i] + (w.kernel[i] - 1) * w.dilations[i] + 1 - size);
    const int64_t small = total / 2, large = total - small;
    pads[i] = mode == "SAME_UPPER" ? small : large;
    pads[i + n] = mode == "SAME_UPPER" ? large : small;
  }
  return pads;
}

std::optional<ir::Patch> convolution_pads(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const std::string mode = ir::attr_string(node.attrs, "auto_pad", "NOTSET");
  const auto input = static_dims_of(graph, node.inputs[0]), weight = static_dims_of(graph, node.inputs[1]);
  if (mode == "NOTSET" || !weight || weight->size() < 3) return std::nullopt;
  if (!input && mode != "VALID") return std::nullopt;
  const size_t n = weight->size() - 2;
  Window w{{weight->begin() + 2, weight->end()},
           ir::attr_ints(node.attrs, "strides"),
           ir::attr_ints(node.attrs, "dilations")};
  if (w.strides.empty()) w.strides.assign(n, 1);
  if (w.dilations.empty()) w.dilations.assign(n, 1);
  const auto pads = explicit_pads(mode, input.value_or(ir::Dims(n + 2)), w);
  ir::Attrs attrs = node.attrs;
  if (!ir::set_attr(attrs, "auto_pad", std::string("NOTSET")).ok() || !ir::set_attr(attrs, "pads", *pads).ok())
    return std::nullopt;
  ir::Patch patch(graph, "convolution_pads");
  patch.replace(node.outputs[0], patch.node(*node.op, node.inputs, std::move(attrs)));
  return patch;
}

}  // namespace

Result<PassStats> run_canonicalize(ir::Graph& graph, PassContext& context) {
  const ir::Rule rules[] = {
      {"identity", ops_named({"Identity"}), identity},
      {"dropout", ops_named({"Dropout"}), dropout},
      {"constant_right", ops_named({"Add", "Mul"}), constant_right},
      {"neutral", ops_named({"Add", "Sub", "Mul", "Div", "Pow"}), neutral},
      {"subtract_constant", ops_named({"Sub"}), subtract_constant},
      {"divide_constant", ops_named({"Div"}), divide_constant},
      {"power", ops_named({"Pow"}), power},
      {"involution", ops_named({"Neg", "Not"}), involution},
      {"idempotent", ops_named({"Relu", "Abs", "Ceil", "Floor"}), idempotent},
      {"variadic", ops_named({"Sum", "Mean", "Max", "Min"}), variadic},
      {"convolution_pads", ops_named({"Conv"}), convolution_pads},
  };
  return apply_rules(graph, rules, context);
}

}  // namespace tutti::compile
