// fuse_attention: product of queries and keys, scale, biases, softmax, product with values, and the transpositions
// around them -> tutti.FusedAttention. Needs: canonicalize, cancel. Leaves: no matrix of scores.
#include <cmath>
#include <limits>

#include "compile/passes/attention_match.h"
#include "compile/passes/attention_ops.h"
#include "compile/passes/match.h"
#include "compile/passes/operand_view.h"
#include "compile/passes/passes.h"
#include "compile/passes/proven_patch.h"
#include "ops/fused_attention.h"

namespace tutti::compile {
namespace {

using ir::Dim;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Patch;
using ir::Shape;
using ir::ValueId;
using ops::FusedAttentionAttrs;
using Made = ProvenPatch::Made;

// A shape that meets the scores at `level` (right-aligned, its last two axes kept), with the batch axes of `working`.
std::optional<Shape> spread(const Shape& shape, const Shape& level, const Shape& working) {
  const auto groups = axis_groups(level, working);
  if (!groups || shape.size() > level.size() + 2) return std::nullopt;
  const size_t skip = level.size() + 2 - shape.size();  // leading axes that the shape lacks
  Shape out;
  size_t at = 0;
  for (size_t i = 0; i < level.size(); at += (*groups)[i], ++i) {
    if (i < skip) continue;
    const Dim& dim = shape[i - skip];
    if ((*groups)[i] == 1) {
      out.push_back(dim);
    } else if (dim.is(1)) {
      out.insert(out.end(), (*groups)[i], Dim(1));
    } else if (dim == level[i]) {
      out.insert(out.end(), working.begin() + static_cast<std::ptrdiff_t>(at),
                 working.begin() + static_cast<std::ptrdiff_t>(at + (*groups)[i]));
    } else {
      return std::nullopt;
    }
  }
  const size_t last = std::min<size_t>(2, shape.size());
  out.insert(out.end(), shape.end() - static_cast<std::ptrdiff_t>(last), shape.end());
  return out;
}

Shape without_leading_ones(Shape shape) {
  size_t ones = 0;
  while (ones < shape.size() && shape[ones].is(1)) ++ones;
  shape.erase(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(ones));
  return shape;
}

// Makes the fused node for one match.
class Fusion {
 public:
  Fusion(const Graph& graph, const AttentionMatch& match, NodeId root)
      : graph_(graph), match_(match), root_(graph.node(root)), emit_(graph, "attention") {
    for (const NodeId id : match.absorbed) emit_.patch().absorbs(id);
  }

  // Nothing, with a reason, when a shape cannot be proven.
  std::optional<Patch> build(std::string& reason) && {
    if (!fill_attrs()) return fail(reason, "a head's size is not known");
    std::vector<Made> inputs(6);
    for (const size_t i : {ops::kAttentionQ, ops::kAttentionK, ops::kAttentionV})
      if (!operand(i, inputs[i])) return fail(reason, "an operand's shape does not follow the scores' batch axes");
    for (size_t i = 0; i < match_.biases.size(); ++i)
      if (!addend(match_.biases[i], inputs[ops::kAttentionBias + i]))
        return fail(reason, "a bias does not follow the scores' batch axes");
    if (match_.mask && !mask(inputs[ops::kAttentionMask]))
      return fail(reason, "the mask does not follow the scores' batch axes");
    while (!inputs.back().present()) inputs.pop_back();
    const ValueId old_value = take_transpose();
    Made y = emit_.node(ops::kFusedAttention, inputs, attrs_);
    const Shape& wanted = *graph_.value(old_value).type.shape;
    if (const auto found = emit_.shape(y); found && *found != wanted) {
      const auto target = reshape_target(graph_, *found, wanted);
      if (!target) return fail(reason, "the result's shape has more than one unknown dimension");
      y = emit_.reshaped(y, *target);
    }
    auto patch = std::move(emit_).replacing(old_value, y);
    if (!patch) reason = "the result's shape cannot be proven";
    return patch;
  }

 private:
  static std::nullopt_t fail(std::string& reason, std::string_view text) {
    reason = text;
    return std::nullopt;
  }
  const Shape& shape(ValueId value) const { return *graph_.value(value).type.shape; }

  bool fill_attrs() {
    const bool ranked = graph_.value(match_.q).type.has_rank() && graph_.value(match_.k).type.has_rank() &&
                        graph_.value(match_.v).type.has_rank() && graph_.value(root_.outputs[0]).type.has_rank();
    if (!ranked || shape(match_.q).size() < 2 || shape(match_.k).size() < 2 || shape(match_.v).size() < 2) return false;
    if (!shape(match_.q).back().is_constant() || !shape(match_.v).back().is_constant()) return false;
    attrs_.softcap = static_cast<float>(match_.softcap);
    attrs_.zero_masked_rows = match_.zero_masked_rows;
    if (match_.mask && match_.masked_value != -std::numeric_limits<double>::infinity())
      attrs_.masked_value = static_cast<float>(match_.masked_value);
    scale_ = match_.scale;
    return true;
  }

  bool operand(size_t i, Made& made) {
    const ValueId value = i == ops::kAttentionQ ? match_.q : i == ops::kAttentionK ? match_.k : match_.v;
    OperandRequest request{value, i == ops::kAttentionK && !match_.keys_are_rows, i != ops::kAttentionV, {}};
    Shape seen = shape(value);
    if (request.swap_last) std::swap(seen[seen.size() - 1], seen[seen.size() - 2]);
    request.shape = spread(seen, i == ops::kAttentionV ? match_.softmax_level : match_.product_level, match_.working);
    if (i == ops::kAttentionQ && match_.query_factor != ir::kNoValue && request.shape) {
      made = emit_.node(op_named("Mul"), {emit_.old(value), emit_.old(match_.query_factor)});
      return shaped(made, *graph_.value(value).type.shape, *request.shape);
    }
    const auto found = request.shape ? trace_operand(graph_, request) : std::nullopt;
    if (!found) return false;
    made = emit_.old(found->source);
    if (found->target) made = emit_.reshaped(made, *found->target);
    scale_ *= found->scale;
    attrs_.scale = static_cast<float>(scale_);
    (i == ops::kAttentionQ   ? attrs_.q_select
     : i == ops::kAttentionK ? attrs_.k_select
                             : attrs_.v_select) = found->select;
    (i == ops::kAttentionQ ? attrs_.q_perm : i == ops::kAttentionK ? attrs_.k_perm : attrs_.v_perm) = found->perm;
    return true;
  }

  bool addend(const ScoreAddend& addend, Made& made) {
    const ir::ValueType& type = graph_.value(addend.value).type;
    const auto to = type.has_rank() ? spread(*type.shape, addend.level, match_.working) : std::nullopt;
    if (!to) return false;
    made = emit_.old(addend.value);
    return without_leading_ones(*to) == without_leading_ones(*type.shape) || shaped(made, *type.shape, *to);
  }

  bool shaped(Made& made, const Shape& from, const Shape& to) {
    if (from == to) return true;
    const auto target = reshape_target(graph_, from, to);
    if (target) made = emit_.reshaped(made, *target);
    return target.has_value();
  }

  // The operator keeps scores where its mask is true.
  bool mask(Made& made) {
    if (!addend(*match_.mask, made)) return false;
    if (match_.mask_hides) made = emit_.node(op_named("Not"), {made});
    return true;
  }

  // The result's transposition, when nothing else reads the result; gives the value to replace.
  ValueId take_transpose() {
    const ValueId product = root_.outputs[0];
    const auto groups = axis_groups(match_.softmax_level, match_.working);
    const ir::Value& value = graph_.value(product);
    if (!graph_.has_single_use(product)) return product;
    const Node& user = graph_.node(value.uses[0].node);
    std::vector<int64_t> perm = ir::attr_ints(user.attrs, "perm");
    const size_t rank = value.type.shape->size();
    if (!is_op(user, "Transpose") || perm.size() != rank || groups->size() + 2 != rank) return product;
    // Each axis of the result stands for a group of working axes.
    std::vector<std::vector<int64_t>> axes;
    int64_t next = 0;
    for (size_t i = 0; i < rank; ++i) {
      axes.emplace_back();
      for (size_t n = 0; n < (i < groups->size() ? (*groups)[i] : 1); ++n) axes.back().push_back(next++);
    }
    for (const int64_t axis : perm)
      attrs_.out_perm.insert(attrs_.out_perm.end(), axes[static_cast<size_t>(axis)].begin(),
                             axes[static_cast<size_t>(axis)].end());
    emit_.patch().absorbs(value.uses[0].node);
    return user.outputs[0];
  }

  const Graph& graph_;
  const AttentionMatch& match_;
  const Node& root_;
  ProvenPatch emit_;
  FusedAttentionAttrs attrs_;
  double scale_ = 1;
};

// Why the device would run the fused node on its reference kernel: then several fast nodes are better. Empty without
// one.
std::string device_refusal(const backend::Backend* backend, const Graph& graph, const AttentionMatch& match) {
  if (!backend) return {};
  const ir::DType dtype = dtype_of(graph, match.v);
  const auto &q = graph.value(match.q).type.shape, &v = graph.value(match.v).type.shape;
  const int64_t size = q ? q->back().constant().value_or(1) : 1, value_size = v ? v->back().constant().value_or(1) : 1;
  const std::vector<backend::TensorDesc> inputs{{dtype, {2, size}}, {dtype, {2, size}}, {dtype, {2, value_size}}};
  const std::vector<backend::TensorDesc> outputs{{dtype, {2, value_size}}};
  const std::vector<const ir::Tensor*> constants(inputs.size(), nullptr);
  const ir::Attrs attrs{FusedAttentionAttrs{}};
  std::string reason = "the device has no kernel for it";
  for (const backend::KernelDef* kernel : backend->kernels(ops::kFusedAttention)) {
    const auto refusal = kernel->supports({ops::kFusedAttention, attrs, inputs, outputs, constants, backend->device()});
    if (!refusal) return {};
    reason = *refusal;
  }
  return reason;
}

struct Outcome {
  std::optional<Patch> patch;
  std::string reason;
  NodeId softmax = ir::kNoNode;
};

Outcome fuse(const Graph& graph, NodeId id, const backend::Backend* backend) {
  auto finding = find_attention(graph, id);
  if (!finding) return {};
  Outcome out{std::nullopt, std::move(finding->reason), finding->softmax};
  if (finding->match) out.reason = device_refusal(backend, graph, *finding->match);
  if (out.reason.empty()) out.patch = Fusion(graph, *finding->match, id).build(out.reason);
  return out;
}

// Softmax nodes between two products that stay, each with the reason.
void list_declined(const Graph& graph, const backend::Backend* backend, PassStats& stats) {
  for (const NodeId id : graph.order()) {
    for (const auto& body : graph.node(id).bodies) list_declined(*body, backend, stats);
    if (!is_op(graph.node(id), "MatMul")) continue;
    const Outcome outcome = fuse(graph, id, backend);
    if (outcome.softmax != ir::kNoNode) stats.declined.emplace_back(graph.node(outcome.softmax).name, outcome.reason);
  }
}

}  // namespace

Result<PassStats> run_fuse_attention(ir::Graph& graph, PassContext& context) {
  const backend::Backend* backend = context.backend;
  const ir::Rule rules[] = {
      {"attention", ops_named({"MatMul"}), [backend](const Graph& g, NodeId id) { return fuse(g, id, backend).patch; }},
      {"attention_op", ops_named({"Attention"}), from_attention},
      {"multi_head_attention", ops_named({"MultiHeadAttention"}), from_multi_head_attention},
  };
  PassStats stats = TUTTI_TRY(apply_rules(graph, rules, context));
  list_declined(graph, backend, stats);
  return stats;
}

}  // namespace tutti::compile
