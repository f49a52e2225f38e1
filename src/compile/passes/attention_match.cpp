#include "compile/passes/attention_match.h"

#include <cmath>
#include <limits>

#include "compile/passes/match.h"
#include "ir/op_def.h"

namespace tutti::compile {
namespace {

using ir::Dim;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Shape;
using ir::ValueId;

Shape batch_of(const Shape& shape) { return {shape.begin(), shape.end() - 2}; }

// Goes down from the softmax. Each step looks at one value of the chain and keeps what it means in the match.
class ScoreWalk {
 public:
  explicit ScoreWalk(const Graph& graph) : graph_(graph) {}

  // The chain from `value`, which only the step above may read, down to the product.
  bool walk(ValueId value, AttentionMatch& match) {
    const Node* node = graph_.producer(value);
    if (!node) return fail("the scores are no product of two values");
    if (!graph_.has_single_use(value)) return fail("the scores are also read elsewhere");
    if (!graph_.value(value).type.has_rank() || graph_.value(value).type.rank() < 2)
      return fail("the scores' rank is not known");
    match.absorbed.push_back(graph_.value(value).producer);
    if (is_op(*node, "MatMul") || is_op(*node, "FusedMatMul")) return product(*node, match);
    if (is_op(*node, "Reshape")) return reshape(*node, match);
    if (is_op(*node, "Add")) return bias(*node, match);
    if (is_op(*node, "Where")) return mask(*node, match);
    if (is_op(*node, "Mul") || is_op(*node, "Div")) return factor(*node, match);
    return fail("the scores come from " + std::string(node->op->name));
  }

  const std::string& reason() const { return reason_; }

 private:
  // The first reason is that of the way that looks most like attention.
  bool fail(std::string reason) {
    if (reason_.empty()) reason_ = std::move(reason);
    return false;
  }
  const Shape& shape(ValueId value) const { return *graph_.value(value).type.shape; }

  bool product(const Node& node, AttentionMatch& match) {
    bool transpose_b = false;
    if (is_op(node, "FusedMatMul")) {
      if (ir::attr_bool(node.attrs, "transA") || ir::attr_bool(node.attrs, "transBatchA") ||
          ir::attr_bool(node.attrs, "transBatchB"))
        return fail("the scores' product transposes its left side or its batches");
      transpose_b = ir::attr_bool(node.attrs, "transB");
      match.scale *= ir::attr_float(node.attrs, "alpha", 1);
    }
    match.q = node.inputs[0], match.k = node.inputs[1];
    match.keys_are_rows = transpose_b;
    if (graph_.value(match.k).is_constant()) return fail("the keys are constant");
    match.product_level = batch_of(shape(node.outputs[0]));
    return true;
  }

  // Axes of batch and heads only are cut or merged.
  bool reshape(const Node& node, AttentionMatch& match) {
    const ir::ValueType& below = graph_.value(node.inputs[0]).type;
    if (!below.has_rank() || below.rank() < 2) return fail("the scores' rank is not known");
    const Shape &from = *below.shape, &to = shape(node.outputs[0]);
    for (size_t i = 1; i <= 2; ++i)
      if (!(from[from.size() - i] == to[to.size() - i]))
        return fail("a Reshape of the scores from " + ir::shape_text(from) + " to " + ir::shape_text(to) +
                    " mixes queries or keys with other axes");
    const Shape level = batch_of(from);
    if (!axis_groups(level, match.working)) {
      if (!axis_groups(match.working, level))
        return fail("a Reshape of the scores neither cuts nor merges whole axes: " + ir::shape_text(from) + " to " +
                    ir::shape_text(to));
      match.working = level;
    }
    return walk(node.inputs[0], match);
  }

  bool bias(const Node& node, AttentionMatch& match) {
    if (match.biases.size() == 2) return fail("more than two biases are added to the scores");
    if (match.scale != 1) return fail("a bias is added before the scores are scaled");
    if (match.softcap != 0) return fail("a bias is added before the scores are capped");
    const Shape level = batch_of(shape(node.outputs[0]));
    for (size_t i = 0; i < 2; ++i) {
      AttentionMatch attempt = match;
      attempt.biases.push_back({node.inputs[1 - i], level});
      if (graph_.value(node.inputs[i]).is_constant() || !walk(node.inputs[i], attempt)) continue;
      match = std::move(attempt);
      return true;
    }
    return fail("neither side of an Add leads to a product");
  }

  bool mask(const Node& node, AttentionMatch& match) {
    if (match.mask || !match.biases.empty()) return fail("a mask replaces scores before a bias or another mask");
    if (match.scale != 1 || match.softcap != 0) return fail("a mask replaces scores before they are scaled or capped");
    for (const size_t i : {size_t{1}, size_t{2}}) {
      const auto value = scalar_of(graph_, node.inputs[3 - i]);
      if (!value) continue;
      match.mask = ScoreAddend{node.inputs[0], batch_of(shape(node.outputs[0]))};
      match.mask_hides = i == 2;
      match.masked_value = *value;
      return walk(node.inputs[i], match);
    }
    return fail("a Where of the scores has no constant side");
  }

  // scale * x or x / scale; cap * tanh(x / c).
  bool factor(const Node& node, AttentionMatch& match) {
    const auto value = scalar_of(graph_, node.inputs[1]);
    const bool divides = is_op(node, "Div");
    if (!value && !divides) return query_factor(node, match);
    if (!value || !std::isfinite(*value) || *value == 0 || !same_type(graph_, node.inputs[0], node.outputs[0]))
      return fail("the scores are divided by something other than one number");
    const Node* tanh = divides ? nullptr : made_by(graph_, node.inputs[0], "Tanh");
    if (!tanh) {
      match.scale *= divides ? 1 / *value : *value;
      return walk(node.inputs[0], match);
    }
    if (match.softcap != 0 || match.scale != 1 || *value < 0 || !graph_.has_single_use(node.inputs[0]))
      return fail("the scores are capped in an unknown way");
    // cap * tanh(x / c) = cap * tanh((cap / c) x / cap)
    match.softcap = *value;
    match.scale = *value;
    return walk(tanh->inputs[0], match);
  }

  // f (q k') = (f q) k' where f has one element for all keys.
  bool query_factor(const Node& node, AttentionMatch& match) {
    for (size_t i = 0; i < 2; ++i) {
      const auto& factor = graph_.value(node.inputs[1 - i]).type.shape;
      const bool fits = factor && !factor->empty() && factor->back().is(1) &&
                        same_type(graph_, node.inputs[i], node.outputs[0]) && match.query_factor == ir::kNoValue &&
                        match.softcap == 0;
      const Node* product = fits ? graph_.producer(node.inputs[i]) : nullptr;
      if (!product || !(is_op(*product, "MatMul") || is_op(*product, "FusedMatMul"))) continue;
      match.query_factor = node.inputs[1 - i];
      return walk(node.inputs[i], match);
    }
    return fail("the scores are multiplied by neither one number nor one number for each query");
  }

  const Graph& graph_;
  std::string reason_;
};

// The softmax below `value`, through Where(IsNaN(p), 0, p).
struct Probabilities {
  const Node* softmax = nullptr;
  bool zero_masked_rows = false, read_elsewhere = false;
  std::vector<NodeId> absorbed;
};

std::optional<Probabilities> probabilities(const Graph& graph, ValueId value) {
  Probabilities out;
  out.read_elsewhere = !graph.has_single_use(value);
  if (const Node* where = made_by(graph, value, "Where")) {
    const Node* is_nan = made_by(graph, where->inputs[0], "IsNaN");
    const auto zero = scalar_of(graph, where->inputs[1]);
    if (!is_nan || is_nan->inputs[0] != where->inputs[2] || zero != 0.0 || !same_type(graph, where->inputs[2], value))
      return std::nullopt;
    out.absorbed = {graph.value(value).producer, graph.value(where->inputs[0]).producer};
    out.zero_masked_rows = true;
    value = where->inputs[2];
    out.read_elsewhere = out.read_elsewhere || graph.value(value).uses.size() != 2 || graph.is_output(value) ||
                         !graph.has_single_use(where->inputs[0]);
  }
  out.softmax = made_by(graph, value, "Softmax");
  if (!out.softmax) return std::nullopt;
  out.absorbed.push_back(graph.value(value).producer);
  return out;
}

}  // namespace

std::optional<std::vector<size_t>> axis_groups(const Shape& coarse, const Shape& fine) {
  std::vector<size_t> groups;
  size_t at = 0;
  for (const Dim& dim : coarse) {
    Dim product(1);
    size_t count = 0;
    do {
      if (at == fine.size()) return std::nullopt;
      product = product * fine[at++];
      ++count;
    } while (!(product == dim));
    groups.push_back(count);
  }
  if (at != fine.size()) return std::nullopt;
  return groups;
}

std::optional<AttentionFinding> find_attention(const Graph& graph, NodeId product) {
  const Node& root = graph.node(product);
  const auto p = probabilities(graph, root.inputs[0]);
  if (!p) return std::nullopt;
  AttentionFinding finding{.match = std::nullopt, .reason = {}, .softmax = p->absorbed.back()};
  const auto decline = [&](std::string reason) {
    finding.reason = std::move(reason);
    return finding;
  };
  const ir::ValueType& type = graph.value(p->softmax->inputs[0]).type;
  if (p->read_elsewhere) return decline("the probabilities are also read elsewhere");
  if (!type.has_rank() || type.rank() < 2) return decline("the scores' rank is not known");
  const int64_t axis = ir::attr_int(p->softmax->attrs, "axis", -1);
  if (axis != -1 && axis != type.rank() - 1) return decline("the softmax is not over the last axis");
  if (graph.value(root.inputs[1]).is_constant()) return decline("the values are constant");
  AttentionMatch match;
  match.v = root.inputs[1];
  match.zero_masked_rows = p->zero_masked_rows;
  match.absorbed = p->absorbed;
  match.softmax_level = match.working = batch_of(*type.shape);
  ScoreWalk walk(graph);
  if (!walk.walk(p->softmax->inputs[0], match)) return decline(walk.reason());
  finding.match = std::move(match);
  return finding;
}

}  // namespace tutti::compile
