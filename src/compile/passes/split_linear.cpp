// split_linear: a product with constant weights of which only parts are taken (Gather, Slice, Split: query, key and
// value of one projection) -> one product per part. Needs: tutti.Linear, simplify_views. Leaves: no copies of such
// parts.
#include <algorithm>
#include <cstring>

#include "compile/passes/passes.h"
#include "compile/passes/view_chain.h"
#include "ops/fused.h"

namespace tutti::compile {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;
using ops::LinearAttrs;

// Elements [begin, begin + count) of one axis; a Gather by a scalar drops the axis.
struct Part {
  ValueId to = ir::kNoValue;
  int64_t axis = 0, begin = 0, count = 1;
  bool drops_axis = false;
};

std::optional<Part> gathered(const Graph& graph, const Node& node) {
  const ir::Tensor* index = constant_of(graph, node.inputs[1]);
  const ir::ValueType& type = graph.value(node.inputs[0]).type;
  if (!index || index->size() != 1 || index->rank() > 1 || !type.has_rank()) return std::nullopt;
  Part part{node.outputs[0], ir::attr_int(node.attrs, "axis", 0), index->get_int(0)};
  if (part.axis < 0) part.axis += type.rank();
  part.drops_axis = index->rank() == 0;
  const auto size = (*type.shape)[static_cast<size_t>(part.axis)].constant();
  if (!size || part.begin < -*size || part.begin >= *size) return std::nullopt;  // the Gather itself refuses it
  if (part.begin < 0) part.begin += *size;
  return part;
}

std::optional<Part> sliced(const Graph& graph, const Node& node) {
  const auto begins = ints_of(graph, input_of(node, 1)), ends = ints_of(graph, input_of(node, 2)),
             axes = ints_of(graph, input_of(node, 3)), steps = ints_of(graph, input_of(node, 4));
  const ir::ValueType& type = graph.value(node.inputs[0]).type;
  if (!begins || !ends || !axes || axes->size() != 1 || !type.has_rank()) return std::nullopt;
  if (has_input(node, 4) && (!steps || (*steps)[0] != 1)) return std::nullopt;
  Part part{node.outputs[0], (*axes)[0]};
  if (part.axis < 0) part.axis += type.rank();
  const auto size = (*type.shape)[static_cast<size_t>(part.axis)].constant();
  if (!size) return std::nullopt;
  const auto bounded = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + *size : at, 0, *size); };
  part.begin = bounded((*begins)[0]);
  part.count = bounded((*ends)[0]) - part.begin;
  return part.count > 0 ? std::optional(part) : std::nullopt;
}

// All parts that a Split makes, whatever is read of them.
std::vector<Part> split_apart(const Graph& graph, const Node& node) {
  const ir::ValueType& type = graph.value(node.inputs[0]).type;
  if (!type.has_rank()) return {};
  int64_t axis = ir::attr_int(node.attrs, "axis", 0), begin = 0;
  if (axis < 0) axis += type.rank();
  std::vector<Part> parts;
  for (const ValueId out : node.outputs) {
    const ir::ValueType& part = out == ir::kNoValue ? type : graph.value(out).type;
    const auto count =
        out == ir::kNoValue || !part.has_rank() ? std::nullopt : (*part.shape)[static_cast<size_t>(axis)].constant();
    if (!count || *count < 1) return {};
    parts.push_back({out, axis, begin, *count});
    begin += *count;
  }
  return parts;
}

// What `node` takes of its first input; empty when it is not known.
std::vector<Part> parts_of(const Graph& graph, const Node& node) {
  if (is_op(node, "Split")) return split_apart(graph, node);
  const auto part = is_op(node, "Gather") ? gathered(graph, node) : sliced(graph, node);
  return part ? std::vector<Part>{*part} : std::vector<Part>{};
}

// The product's columns that make a part of piece `at`, when its last axis consists of pieces of these sizes.
std::vector<int64_t> columns_of(const std::vector<int64_t>& sizes, size_t at, const Part& part) {
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < sizes.size(); ++i) (i < at ? outer : inner) *= i == at ? 1 : sizes[i];
  std::vector<int64_t> columns;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t k = part.begin; k < part.begin + part.count; ++k)
      for (int64_t i = 0; i < inner; ++i) columns.push_back((o * sizes[at] + k) * inner + i);
  return columns;
}

// `axis` of a matrix or vector reduced to the chosen places.
ir::Tensor choose(const ir::Tensor& tensor, int64_t axis, const std::vector<int64_t>& places) {
  ir::Dims dims = tensor.dims();
  const int64_t old_size = dims[static_cast<size_t>(axis)];
  dims[static_cast<size_t>(axis)] = static_cast<int64_t>(places.size());
  const int64_t rows = axis == 0 ? 1 : tensor.dim(0);
  const size_t run = static_cast<size_t>(axis == 0 && tensor.rank() == 2 ? tensor.dim(1) : 1) *
                     static_cast<size_t>(dtype_bits(tensor.dtype())) / 8;
  ir::Tensor out = ir::Tensor::allocate(tensor.dtype(), dims);
  const auto* from = static_cast<const std::byte*>(tensor.raw());
  auto* to = static_cast<std::byte*>(out.mutable_raw());
  for (int64_t r = 0; r < rows; ++r)
    for (const int64_t place : places) {
      std::memcpy(to, from + static_cast<size_t>(r * old_size + place) * run, run);
      to += run;
    }
  return out;
}

struct Split {
  ViewChain chain;  // from the product to the part's operand
  const Node* linear;
};

// The views between a product and what a part is taken from; nothing if there is no such product.
std::optional<Split> product_above(const Graph& graph, ValueId value) {
  const Node* above = graph.producer(value);
  if (!above) return std::nullopt;
  std::optional<ViewChain> chain =
      is_view(*above) ? view_chain(graph, graph.value(value).producer) : identity_chain(graph, value);
  if (!chain) return std::nullopt;
  const Node* linear = graph.producer(chain->source);
  if (!linear || linear->op != &ops::kLinear || has_input(*linear, 3)) return std::nullopt;
  const ir::Tensor* weight = constant_of(graph, linear->inputs[1]);
  const ir::Tensor* bias = constant_of(graph, input_of(*linear, 2));
  if (!weight || weight->rank() != 2 || (has_input(*linear, 2) && (!bias || bias->rank() != 1))) return std::nullopt;
  return Split{std::move(*chain), linear};
}

bool takes_part(const Node& node) { return is_op(node, "Gather") || is_op(node, "Slice") || is_op(node, "Split"); }

// Everything made of `value` through views is a part: the whole product is then not needed.
bool only_parts_are_used(const Graph& graph, ValueId value, int depth = 0) {
  if (graph.is_output(value) || depth > 8) return false;
  for (const ir::Use& use : graph.value(value).uses) {
    const Node& user = graph.node(use.node);
    if (takes_part(user) ? use.slot != 0 : !is_view(user) || !only_parts_are_used(graph, user.outputs[0], depth + 1))
      return false;
  }
  return true;
}

// The part as a product of its own.
std::optional<ValueId> product_of(ir::Patch& patch, const Graph& graph, const Split& whole, const Part& part) {
  ViewChain chain = whole.chain;
  std::vector<int>& axis = chain.axes[static_cast<size_t>(part.axis)];
  const int first = chain.last_axis_begin();
  if (axis.size() != 1 || axis[0] < first) return std::nullopt;
  const int cut = axis[0];
  std::vector<int64_t> sizes;
  for (size_t i = static_cast<size_t>(first); i < chain.pieces.size(); ++i) {
    const auto size = chain.pieces[i].constant();
    if (!size) return std::nullopt;
    sizes.push_back(*size);
  }
  const std::vector<int64_t> columns = columns_of(sizes, static_cast<size_t>(cut - first), part);

  const Node& linear = *whole.linear;
  const auto& attrs = linear.attrs.as<LinearAttrs>();
  std::vector<ValueId> inputs = linear.inputs;
  inputs[1] = patch.constant(choose(*constant_of(graph, inputs[1]), attrs.transpose_weight ? 0 : 1, columns));
  if (has_input(linear, 2)) inputs[2] = patch.constant(choose(*constant_of(graph, inputs[2]), 0, columns));
  const ValueId y = patch.node(ops::kLinear, std::move(inputs), attrs);

  chain.source_shape.back() = ir::Dim(static_cast<int64_t>(columns.size()));
  if (part.count > 1) {
    chain.pieces[static_cast<size_t>(cut)] = ir::Dim(part.count);
  } else {
    chain.pieces.erase(chain.pieces.begin() + cut);
    axis.clear();
    for (auto& other : chain.axes)
      for (int& piece : other) piece -= piece > cut;
    if (part.drops_axis) chain.axes.erase(chain.axes.begin() + static_cast<std::ptrdiff_t>(part.axis));
  }
  return emit_chain(patch, graph, chain, y);
}

std::optional<ir::Patch> split(const Graph& graph, NodeId id) {
  const Node& root = graph.node(id);
  const auto parts = parts_of(graph, root);
  const auto whole = parts.empty() ? std::nullopt : product_above(graph, root.inputs[0]);
  if (!whole || !only_parts_are_used(graph, whole->chain.source)) return std::nullopt;
  ir::Patch patch(graph, "split");
  patch.absorbs(graph.value(whole->chain.source).producer);
  for (const Part& part : parts) {
    const auto value = product_of(patch, graph, *whole, part);
    if (!value) return std::nullopt;
    patch.replace(part.to, *value);
  }
  return patch;
}

}  // namespace

Result<PassStats> run_split_linear(ir::Graph& graph, PassContext& context) {
  const ir::Rule rules[] = {{"split", ops_named({"Gather", "Slice", "Split"}), split}};
  return apply_rules(graph, rules, context);
}

}  // namespace tutti::compile
