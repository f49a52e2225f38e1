// fuse_activation: decomposed Gelu, Swish, HardSwish, Mish -> one node. Needs: canonicalize (constants second). Leaves:
// activations that fuse further.
#include <cmath>

#include "compile/passes/match.h"
#include "compile/passes/passes.h"
#include "ir/op_def.h"
#include "ops/op_list.h"

namespace tutti::compile {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kSqrtTwoOverPi = 0.79788456080286535588;
constexpr double kCubic = 0.044715;

// A product taken apart: factors that are no scalars, and the scalars multiplied. At most `kMaxFactors` deep, through
// single uses only.
struct Product {
  std::vector<ValueId> factors;
  double scale = 1;
};
constexpr size_t kMaxFactors = 6;

void collect(const Graph& graph, ValueId value, Product& into, bool root) {
  const Node* node = graph.producer(value);
  const bool inside = node && (root || graph.has_single_use(value)) && into.factors.size() < kMaxFactors;
  if (const auto scalar = scalar_of(graph, value)) {
    into.scale *= *scalar;
  } else if (inside && is_op(*node, "Mul") && node->inputs[0] != node->inputs[1]) {
    collect(graph, node->inputs[0], into, false);
    collect(graph, node->inputs[1], into, false);
  } else if (inside && is_op(*node, "Div") && scalar_of(graph, node->inputs[1]).value_or(0) != 0) {
    into.scale /= *scalar_of(graph, node->inputs[1]);
    collect(graph, node->inputs[0], into, false);
  } else {
    into.factors.push_back(value);
  }
}

Product product_of(const Graph& graph, ValueId value) {
  Product out;
  collect(graph, value, out, true);
  return out;
}

bool near(double found, double expected) { return std::abs(found - expected) <= 2e-4 * std::abs(expected); }

// `value` is x * scale.
bool is_scaled(const Graph& graph, ValueId value, ValueId x, double scale) {
  if (value == x) return near(scale, 1);
  const Product product = product_of(graph, value);
  return product.factors.size() == 1 && product.factors[0] == x && near(product.scale, scale);
}

// The operand of an Add whose other one is this scalar.
ValueId plus_scalar(const Graph& graph, ValueId value, double scalar) {
  const Node* add = made_by(graph, value, "Add");
  if (!add) return ir::kNoValue;
  if (is_scalar_near(graph, add->inputs[1], scalar)) return add->inputs[0];
  return is_scalar_near(graph, add->inputs[0], scalar) ? add->inputs[1] : ir::kNoValue;
}

bool is_cube_of(const Graph& graph, ValueId value, ValueId x) {
  if (const Node* pow = made_by(graph, value, "Pow"))
    return pow->inputs[0] == x && is_scalar_near(graph, pow->inputs[1], 3);
  return false;
}

// 0.044715 * x^3, in any grouping.
bool is_cubic_term(const Graph& graph, ValueId value, ValueId x) {
  const Product product = product_of(graph, value);
  if (!near(product.scale, kCubic)) return false;
  int degree = 0;
  for (const ValueId factor : product.factors) {
    const Node* square = made_by(graph, factor, "Mul");
    if (factor == x)
      degree += 1;
    else if (square && square->inputs[0] == x && square->inputs[1] == x)
      degree += 2;
    else if (is_cube_of(graph, factor, x))
      degree += 3;
    else
      return false;
  }
  return degree == 3;
}

// sqrt(2/pi) * (x + 0.044715 x^3).
bool is_tanh_argument(const Graph& graph, ValueId value, ValueId x) {
  const Product product = product_of(graph, value);
  if (product.factors.size() != 1 || !near(product.scale, kSqrtTwoOverPi)) return false;
  const Node* add = made_by(graph, product.factors[0], "Add");
  if (!add) return false;
  return (add->inputs[0] == x && is_cubic_term(graph, add->inputs[1], x)) ||
         (add->inputs[1] == x && is_cubic_term(graph, add->inputs[0], x));
}

std::optional<ir::Patch> unary_patch(const Graph& graph, const Node& root, std::string_view op, ValueId x,
                                     std::initializer_list<ir::AttrField> attrs) {
  const ir::OpDef* def = ops::find_op(op);
  if (!def || !same_type(graph, x, root.outputs[0])) return std::nullopt;
  ir::Patch patch(graph, std::string(op));
  patch.replace(root.outputs[0], patch.node(*def, {x}, attrs_with(*def, attrs)));
  return patch;
}

// 0.5 * x * (1 + erf(x / sqrt 2)) and its tanh approximation, whatever the order of the factors.
std::optional<ir::Patch> gelu(const Graph& graph, NodeId id) {
  const Node& root = graph.node(id);
  const Product product = product_of(graph, root.outputs[0]);
  if (product.factors.size() != 2 || !near(product.scale, 0.5)) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    const ValueId x = product.factors[1 - i];
    const ValueId inner = plus_scalar(graph, product.factors[i], 1);
    if (const Node* erf = made_by(graph, inner, "Erf"); erf && is_scaled(graph, erf->inputs[0], x, kSqrtHalf))
      return unary_patch(graph, root, "Gelu", x, {});
    if (const Node* tanh = made_by(graph, inner, "Tanh"); tanh && is_tanh_argument(graph, tanh->inputs[0], x))
      return unary_patch(graph, root, "Gelu", x, {{"approximate", std::string("tanh")}});
  }
  return std::nullopt;
}

// clip(x + 3, 0, 6), with the sixth in `scale`.
bool is_relu6_of_plus_3(const Graph& graph, ValueId value, ValueId x) {
  const Node* clip = made_by(graph, value, "Clip");
  if (!clip || scalar_of(graph, input_of(*clip, 1)) != 0.0 || scalar_of(graph, input_of(*clip, 2)) != 6.0) return false;
  return plus_scalar(graph, clip->inputs[0], 3) == x;
}

std::optional<ir::Patch> gated(const Graph& graph, const Node& root, ValueId x, ValueId gate, double scale) {
  if (const Node* sigmoid = made_by(graph, gate, "Sigmoid"); sigmoid && near(scale, 1)) {
    const ValueId argument = sigmoid->inputs[0];
    if (argument == x) return unary_patch(graph, root, "Swish", x, {{"alpha", 1.0f}});
    const Product product = product_of(graph, argument);
    if (product.factors.size() == 1 && product.factors[0] == x)
      return unary_patch(graph, root, "Swish", x, {{"alpha", static_cast<float>(product.scale)}});
  }
  const Node* hard = made_by(graph, gate, "HardSigmoid");
  if (hard && near(scale, 1) && hard->inputs[0] == x && near(ir::attr_float(hard->attrs, "alpha"), 1.0 / 6) &&
      ir::attr_float(hard->attrs, "beta") == 0.5f)
    return unary_patch(graph, root, "HardSwish", x, {});
  if (near(scale, 1.0 / 6) && is_relu6_of_plus_3(graph, gate, x)) return unary_patch(graph, root, "HardSwish", x, {});
  if (const Node* tanh = made_by(graph, gate, "Tanh"); tanh && near(scale, 1))
    if (const Node* softplus = made_by(graph, tanh->inputs[0], "Softplus"); softplus && softplus->inputs[0] == x)
      return unary_patch(graph, root, "Mish", x, {});
  return std::nullopt;
}

std::optional<ir::Patch> gate(const Graph& graph, NodeId id) {
  const Node& root = graph.node(id);
  const Product product = product_of(graph, root.outputs[0]);
  if (product.factors.size() != 2) return std::nullopt;
  for (size_t i = 0; i < 2; ++i)
    if (auto patch = gated(graph, root, product.factors[i], product.factors[1 - i], product.scale)) return patch;
  return std::nullopt;
}

}  // namespace

Result<PassStats> run_fuse_activation(ir::Graph& graph, PassContext& context) {
  const ir::Rule rules[] = {{"gelu", ops_named({"Mul", "Div"}), gelu}, {"gate", ops_named({"Mul", "Div"}), gate}};
  return apply_rules(graph, rules, context);
}

}  // namespace tutti::compile
