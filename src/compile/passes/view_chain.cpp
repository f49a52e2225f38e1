#include "compile/passes/view_chain.h"

#include <algorithm>
#include <numeric>

namespace tutti::compile {
namespace {

using ir::Dim;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Shape;
using ir::ValueId;

constexpr size_t kLongestRun = 16;

Dim product_of(const std::vector<Dim>& dims) {
  Dim all(1);
  for (const Dim& dim : dims) all = all * dim;
  return all;
}

std::optional<Dim> exact_quotient(const Dim& a, const Dim& b) {
  if (b.is(0)) return std::nullopt;
  const Dim quotient = Dim::floor_div(a, b);
  return quotient * b == a ? std::optional(quotient) : std::nullopt;
}

// Cuts piece `at` into `outer` and `inner`; the pieces behind it move up by one.
void cut(ViewChain& chain, int at, const Dim& outer, const Dim& inner) {
  chain.pieces[static_cast<size_t>(at)] = outer;
  chain.pieces.insert(chain.pieces.begin() + at + 1, inner);
}

// How many pieces from flat[next] on together are `dim`; cuts the last one if it is too large.
std::optional<size_t> take(ViewChain& chain, std::vector<int>& flat, size_t next, const Dim& dim) {
  const size_t begin = next;
  for (Dim rest = dim; !rest.is(1); ++next) {
    if (next == flat.size()) return std::nullopt;
    const int at = flat[next];
    const Dim piece = chain.pieces[static_cast<size_t>(at)];
    if (const auto left = exact_quotient(rest, piece)) {
      rest = *left;
    } else if (const auto inner = exact_quotient(piece, rest)) {
      cut(chain, at, rest, *inner);
      for (int& id : flat) id += id > at;
      flat.insert(flat.begin() + static_cast<std::ptrdiff_t>(next) + 1, at + 1);
      rest = Dim(1);
    } else {
      return std::nullopt;
    }
  }
  return next - begin;
}

std::vector<int> flattened(const ViewChain& chain) {
  std::vector<int> flat;
  for (const auto& axis : chain.axes) flat.insert(flat.end(), axis.begin(), axis.end());
  return flat;
}

bool append(const Graph& graph, ViewChain& chain, const Node& node) {
  const ir::ValueType& type = graph.value(node.outputs[0]).type;
  if (!type.has_rank()) return false;
  if (!is_op(node, "Transpose")) return reshape_chain(chain, *type.shape);
  std::vector<int64_t> perm = ir::attr_ints(node.attrs, "perm");
  if (perm.empty())
    for (int64_t i = type.rank(); i-- > 0;) perm.push_back(i);
  transpose_chain(chain, perm);
  return true;
}

// Pieces that stay neighbours move as one.
struct Run {
  int first, last;
};

std::vector<Run> runs_of(const ViewChain& chain) {
  std::vector<Run> runs;
  for (const int piece : flattened(chain)) {
    if (!runs.empty() && runs.back().last + 1 == piece)
      runs.back().last = piece;
    else
      runs.push_back({piece, piece});
  }
  return runs;
}

Dim size_of(const ViewChain& chain, const Run& run) {
  return product_of({chain.pieces.begin() + run.first, chain.pieces.begin() + run.last + 1});
}

// One Reshape, one Transpose, one Reshape; what is not needed is empty.
struct Form {
  std::optional<std::vector<int64_t>> before, after;  // targets
  std::vector<int64_t> perm;
};

// Target numbers that make `to` of `from`; empty inside when the shapes are equal already.
std::optional<std::optional<std::vector<int64_t>>> target_between(const Graph& graph, const Shape& from,
                                                                  const Shape& to) {
  if (from == to) return std::optional<std::vector<int64_t>>();
  auto numbers = reshape_numbers(graph, from, to);
  if (!numbers) return std::nullopt;
  return std::optional(std::move(*numbers));
}

std::optional<Form> form_of(const Graph& graph, const ViewChain& chain) {
  std::vector<Run> by_source = runs_of(chain);
  const std::vector<Run> by_result = by_source;
  std::sort(by_source.begin(), by_source.end(), [](const Run& a, const Run& b) { return a.first < b.first; });
  Form form;
  Shape from = chain.source_shape;
  if (by_result.size() > 1) {
    Shape cut, moved;
    for (const Run& run : by_source) cut.push_back(size_of(chain, run));
    for (const Run& run : by_result) {
      moved.push_back(size_of(chain, run));
      const auto same = [&](const Run& other) { return other.first == run.first; };
      form.perm.push_back(std::find_if(by_source.begin(), by_source.end(), same) - by_source.begin());
    }
    auto before = target_between(graph, from, cut);
    if (!before) return std::nullopt;
    form.before = std::move(*before);
    from = std::move(moved);
  }
  auto after = target_between(graph, from, chain.shape());
  if (!after) return std::nullopt;
  form.after = std::move(*after);
  return form;
}

ValueId reshape_to(ir::Patch& patch, ValueId value, const std::vector<int64_t>& target) {
  const ValueId shape = patch.constant(ir::Tensor::from<int64_t>({static_cast<int64_t>(target.size())}, target));
  return patch.node(op_named("Reshape"), {value, shape});
}

}  // namespace

bool is_view(const Node& node) {
  return is_op(node, "Reshape") || is_op(node, "Transpose") || is_op(node, "Squeeze") || is_op(node, "Unsqueeze") ||
         is_op(node, "Flatten");
}

Shape ViewChain::shape() const {
  Shape out;
  for (const auto& axis : axes) {
    Dim size(1);
    for (const int piece : axis) size = size * pieces[static_cast<size_t>(piece)];
    out.push_back(size);
  }
  return out;
}

int ViewChain::last_axis_begin() const {
  int at = static_cast<int>(pieces.size());
  Dim rest = source_shape.back();
  while (at > 0 && !rest.is(1)) rest = Dim::floor_div(rest, pieces[static_cast<size_t>(--at)]);
  return at;
}

std::optional<ViewChain> identity_chain(const Graph& graph, ValueId source) {
  const ir::ValueType& type = graph.value(source).type;
  if (!type.has_rank()) return std::nullopt;
  ViewChain chain{.source = source, .source_shape = *type.shape};
  for (const Dim& dim : chain.source_shape) {
    chain.axes.emplace_back();
    if (dim.is(0)) return std::nullopt;
    if (dim.is(1)) continue;
    chain.axes.back().push_back(static_cast<int>(chain.pieces.size()));
    chain.pieces.push_back(dim);
  }
  return chain;
}

bool reshape_chain(ViewChain& chain, const Shape& to) {
  std::vector<int> flat = flattened(chain);
  std::vector<size_t> counts;
  size_t next = 0;
  for (const Dim& dim : to) {
    const auto count = take(chain, flat, next, dim);
    if (!count) return false;
    counts.push_back(*count);
    next += *count;
  }
  if (next != flat.size()) return false;
  chain.axes.clear();
  auto from = flat.begin();
  for (const size_t count : counts) {
    const auto end = from + static_cast<std::ptrdiff_t>(count);
    chain.axes.emplace_back(from, end);
    from = end;
  }
  return true;
}

void transpose_chain(ViewChain& chain, const std::vector<int64_t>& perm) {
  std::vector<std::vector<int>> axes;
  for (const int64_t axis : perm) axes.push_back(chain.axes[static_cast<size_t>(axis)]);
  chain.axes = std::move(axes);
}

std::optional<ViewChain> view_chain(const Graph& graph, NodeId last) {
  std::vector<const Node*> run;  // from the last to the first
  for (const Node* node = &graph.node(last); node && is_view(*node) && run.size() < kLongestRun;
       node = graph.producer(node->inputs[0]))
    run.push_back(node);
  for (; !run.empty(); run.pop_back()) {
    auto chain = identity_chain(graph, run.back()->inputs[0]);
    const auto fits = [&](const Node* node) { return append(graph, *chain, *node); };
    if (!chain || !std::all_of(run.rbegin(), run.rend(), fits)) continue;
    for (const Node* node : run) {
      if (node != run.front() && !graph.has_single_use(node->outputs[0])) break;
      chain->transposes += is_op(*node, "Transpose");
      ++chain->nodes;
    }
    return chain;
  }
  return std::nullopt;
}

std::optional<ChainCost> chain_cost(const Graph& graph, const ViewChain& chain) {
  const auto form = form_of(graph, chain);
  if (!form) return std::nullopt;
  const int transposes = form->perm.empty() ? 0 : 1;
  return ChainCost{transposes, transposes + form->before.has_value() + form->after.has_value()};
}

std::optional<ValueId> emit_chain(ir::Patch& patch, const Graph& graph, const ViewChain& chain, ValueId source) {
  const auto form = form_of(graph, chain);
  if (!form) return std::nullopt;
  ValueId value = source;
  if (form->before) value = reshape_to(patch, value, *form->before);
  if (!form->perm.empty()) {
    const ir::OpDef& op = op_named("Transpose");
    value = patch.node(op, {value}, attrs_with(op, {{"perm", form->perm}}));
  }
  if (form->after) value = reshape_to(patch, value, *form->after);
  return value;
}

}  // namespace tutti::compile
