#include "compile/passes/attention_ops.h"

#include <cmath>

#include "compile/passes/match.h"
#include "compile/passes/proven_patch.h"
#include "ops/attention.h"
#include "ops/attention_contrib.h"
#include "ops/fused_attention.h"

namespace tutti::compile {
namespace {

using ir::Dim;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Shape;
using ir::ValueId;
using ops::FusedAttentionAttrs;
using Made = ProvenPatch::Made;

bool has_only_first_output(const Node& node) {
  for (size_t i = 1; i < node.outputs.size(); ++i)
    if (node.outputs[i] != ir::kNoValue) return false;
  return true;
}

bool lacks_inputs_from(const Node& node, size_t first) {
  for (size_t i = first; i < node.inputs.size(); ++i)
    if (has_input(node, i)) return false;
  return true;
}

const Shape* shape_of(const Graph& graph, ValueId value, size_t rank) {
  if (value == ir::kNoValue) return nullptr;
  const auto& shape = graph.value(value).type.shape;
  return shape && shape->size() == rank ? &*shape : nullptr;
}

struct Heads {
  Made value;
  std::vector<int64_t> perm;
  Dim batch, length;
  int64_t size = 0;
};

// [B, heads, S, D] as it is, or [B, S, heads * D] with its last axis cut.
std::optional<Heads> heads_of(ProvenPatch& patch, const Graph& graph, ValueId value, int64_t heads) {
  if (const Shape* s = shape_of(graph, value, 4)) {
    if (!(*s)[3].is_constant()) return std::nullopt;
    return Heads{patch.old(value), {}, (*s)[0], (*s)[2], *(*s)[3].constant()};
  }
  const Shape* s = shape_of(graph, value, 3);
  if (!s || !(*s)[2].is_constant() || heads <= 0 || *(*s)[2].constant() % heads != 0) return std::nullopt;
  const int64_t size = *(*s)[2].constant() / heads;
  if (size == 0) return std::nullopt;
  return Heads{patch.reshaped(patch.old(value), {0, 0, heads, size}), {0, 2, 1, 3}, (*s)[0], (*s)[1], size};
}

struct Operands {
  Heads q, k, v;
};

// The result in the form of the query: nothing unless batches and lengths provably agree.
std::optional<ir::Patch> finish(ProvenPatch patch, const Graph& graph, const Node& node, const Operands& o,
                                FusedAttentionAttrs attrs, std::vector<Made> addends) {
  const auto& [q, k, v] = o;
  if (!(q.batch == k.batch && k.batch == v.batch && k.length == v.length)) return std::nullopt;
  attrs.q_perm = q.perm, attrs.k_perm = k.perm, attrs.v_perm = v.perm, attrs.out_perm = q.perm;
  std::vector<Made> inputs{q.value, k.value, v.value};
  inputs.insert(inputs.end(), addends.begin(), addends.end());
  while (!inputs.back().present()) inputs.pop_back();
  Made y = patch.node(ops::kFusedAttention, inputs, attrs);
  if (!q.perm.empty()) {
    // A number, not -1: with an empty batch -1 cannot be computed.
    const auto& shape = graph.value(node.outputs[0]).type.shape;
    const auto columns = shape ? shape->back().constant() : std::nullopt;
    if (!columns) return std::nullopt;
    y = patch.reshaped(y, {0, 0, *columns});
  }
  return std::move(patch).replacing(node.outputs[0], y);
}

// A mask that is as long as the keys, or one for all of them: a shorter one hides the rest.
bool covers_keys(const Graph& graph, ValueId mask, const Dim& keys) {
  const auto& shape = graph.value(mask).type.shape;
  return shape && !shape->empty() && (shape->back() == keys || shape->back().is(1));
}

bool is_float32(const Graph& graph, const Node& node) { return dtype_of(graph, node.inputs[0]) == ir::DType::kFloat32; }

float scale_or_default(std::optional<float> scale, int64_t size) {
  return scale ? *scale : static_cast<float>(1 / std::sqrt(static_cast<double>(size)));
}

// Values of a constant vector from `begin` on, as [heads, size].
std::optional<ir::Tensor> bias_part(const Graph& graph, ValueId bias, int64_t begin, const ir::Dims& dims) {
  const ir::Tensor* all = constant_of(graph, bias);
  const int64_t count = dims[0] * dims[1];
  if (!all || all->rank() != 1 || all->dtype() != ir::DType::kFloat32 || all->size() < begin + count)
    return std::nullopt;
  return ir::Tensor::from<float>(dims,
                                 all->data<float>().subspan(static_cast<size_t>(begin), static_cast<size_t>(count)));
}

}  // namespace

std::optional<ir::Patch> from_attention(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const auto& a = node.attrs.as<ops::AttentionAttrs>();
  if (!has_only_first_output(node) || !lacks_inputs_from(node, 4) || !is_float32(graph, node)) return std::nullopt;
  ProvenPatch patch(graph, "attention_op");
  const auto q = heads_of(patch, graph, node.inputs[0], a.q_num_heads.value_or(0));
  const auto k = heads_of(patch, graph, node.inputs[1], a.kv_num_heads.value_or(0));
  const auto v = heads_of(patch, graph, node.inputs[2], a.kv_num_heads.value_or(0));
  if (!q || !k || !v) return std::nullopt;
  FusedAttentionAttrs attrs;
  attrs.scale = scale_or_default(a.scale, q->size);
  attrs.softcap = a.softcap;
  attrs.causal = a.is_causal;
  attrs.zero_masked_rows = true;
  std::vector<Made> addends(3);
  if (const ValueId mask = input_of(node, 3); mask != ir::kNoValue) {
    if (!covers_keys(graph, mask, k->length)) return std::nullopt;
    addends[dtype_of(graph, mask) == ir::DType::kBool ? 2 : 0] = patch.old(mask);
  }
  return finish(std::move(patch), graph, node, {*q, *k, *v}, std::move(attrs), std::move(addends));
}

std::optional<ir::Patch> from_multi_head_attention(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const auto& a = node.attrs.as<ops::MultiHeadAttentionAttrs>();
  // Inputs: query, key, value, bias, padding mask, attention bias, past key, past value.
  if (!has_only_first_output(node) || has_input(node, 4) || !lacks_inputs_from(node, 6) || !is_float32(graph, node) ||
      !shape_of(graph, node.inputs[0], 3))
    return std::nullopt;
  ProvenPatch patch(graph, "multi_head_attention");
  std::optional<Heads> heads[3];
  int64_t begin = 0;
  for (size_t i = 0; i < 3; ++i) {
    heads[i] = heads_of(patch, graph, input_of(node, i), a.num_heads);
    if (!heads[i]) return std::nullopt;
    if (!has_input(node, 3)) continue;
    const auto part = bias_part(graph, node.inputs[3], begin, {a.num_heads, heads[i]->size});
    if (!part || heads[i]->perm.empty()) return std::nullopt;
    heads[i]->value = patch.node(op_named("Add"), {heads[i]->value, patch.constant(*part)});
    begin += a.num_heads * heads[i]->size;
  }
  FusedAttentionAttrs attrs;
  attrs.scale = scale_or_default(a.scale != 0 ? std::optional(a.scale) : std::nullopt, heads[0]->size);
  attrs.causal = a.unidirectional;
  std::vector<Made> addends(3);
  if (has_input(node, 5)) {
    if (!covers_keys(graph, node.inputs[5], heads[1]->length)) return std::nullopt;
    addends[0] = patch.old(node.inputs[5]);
  }
  return finish(std::move(patch), graph, node, {*heads[0], *heads[1], *heads[2]}, std::move(attrs), std::move(addends));
}

}  // namespace tutti::compile
