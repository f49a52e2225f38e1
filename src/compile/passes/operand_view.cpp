#include "compile/passes/operand_view.h"

#include <algorithm>
#include <cmath>

#include "compile/passes/match.h"
#include "ir/op_def.h"

namespace tutti::compile {
namespace {

using ir::Dim;
using ir::Graph;
using ir::Node;
using ir::Shape;
using ir::ValueId;

// A tensor cut into factors, row-major; each axis of the view is a product of factors.
class View {
 public:
  View(ValueId source, Shape shape) : source_(source), shape_(std::move(shape)) {
    for (const Dim& dim : shape_) axes_.push_back({add_factor(dim, false)});
  }

  // Goes on to `value`, whose producer reads what is viewed so far. False when the node is not one that can be looked
  // through; the view is then of no use.
  bool follow(const Graph& graph, ValueId value, bool take_scale);
  bool reshape(const Shape& to);
  void swap_last() { std::swap(axes_[axes_.size() - 1], axes_[axes_.size() - 2]); }
  std::optional<InPlaceOperand> in_place(const Graph& graph) const;

 private:
  struct Factor {
    Dim dim;
    bool repeats;  // not in memory
  };
  using Axis = std::vector<size_t>;

  size_t add_factor(const Dim& dim, bool repeats) {
    factors_.push_back({dim, repeats});
    return factors_.size() - 1;
  }
  Dim dim_of(const Axis& axis) const {
    Dim product(1);
    for (const size_t f : axis) product = product * factors_[f].dim;
    return product;
  }
  bool transpose(const Graph& graph, const Node& node);
  bool gather(const Graph& graph, const Node& node);
  bool split(const Graph& graph, const Node& node, ValueId output);
  bool expand(const Graph& graph, const Node& node);
  bool select(size_t axis, int64_t index);
  void cut(size_t factor, const Dim& front, const Dim& back, std::vector<size_t>& open, std::vector<Axis>& done);

  ValueId source_;
  Shape shape_;
  std::vector<Factor> factors_;
  std::vector<Axis> axes_;
  std::optional<size_t> selected_;
  int64_t index_ = 0;
  double scale_ = 1;
};

bool View::transpose(const Graph& graph, const Node& node) {
  std::vector<int64_t> perm = ir::attr_ints(node.attrs, "perm");
  if (perm.empty())
    for (size_t i = axes_.size(); i-- > 0;) perm.push_back(static_cast<int64_t>(i));
  if (perm.size() != axes_.size() || !graph.value(node.outputs[0]).type.has_rank()) return false;
  std::vector<Axis> permuted;
  for (const int64_t axis : perm) permuted.push_back(axes_[static_cast<size_t>(axis)]);
  axes_ = std::move(permuted);
  return true;
}

bool View::select(size_t axis, int64_t index) {
  const Dim dim = dim_of(axes_[axis]);
  if (index < 0 && dim.is_constant()) index += *dim.constant();
  if (dim.is_constant() && (index < 0 || index >= *dim.constant())) return false;
  if (!dim.is(1)) {
    if (selected_ || axes_[axis].size() != 1 || factors_[axes_[axis][0]].repeats || index < 0) return false;
    selected_ = axes_[axis][0];
    index_ = index;
  }
  axes_.erase(axes_.begin() + static_cast<std::ptrdiff_t>(axis));
  return true;
}

// One index drops the axis.
bool View::gather(const Graph& graph, const Node& node) {
  const ir::Tensor* indices = constant_of(graph, node.inputs[1]);
  if (!indices || indices->rank() != 0) return false;
  const auto axis = ir::normalize_axis(ir::attr_int(node.attrs, "axis"), static_cast<int64_t>(axes_.size()));
  return axis.ok() && select(static_cast<size_t>(*axis), indices->get_int(0));
}

// Equal parts: the axis is parts x size, and one part is taken.
bool View::split(const Graph& graph, const Node& node, ValueId output) {
  const auto rank = static_cast<int64_t>(axes_.size());
  const auto axis = ir::normalize_axis(ir::attr_int(node.attrs, "axis"), rank);
  const auto part = std::find(node.outputs.begin(), node.outputs.end(), output) - node.outputs.begin();
  if (!axis.ok()) return false;
  const auto at = static_cast<size_t>(*axis);
  for (const ValueId out : node.outputs) {
    const auto& shape = out == ir::kNoValue ? std::optional<Shape>() : graph.value(out).type.shape;
    if (!shape || !((*shape)[at] == (*graph.value(output).type.shape)[at])) return false;
  }
  Shape cut;
  for (size_t i = 0; i < axes_.size(); ++i) {
    if (i == at) cut.emplace_back(static_cast<int64_t>(node.outputs.size()));
    cut.push_back(i == at ? (*graph.value(output).type.shape)[at] : dim_of(axes_[i]));
  }
  return reshape(cut) && select(at, part);
}

// Axes of one element that are repeated a known number of times.
bool View::expand(const Graph& graph, const Node& node) {
  const auto& shape = graph.value(node.outputs[0]).type.shape;
  if (!shape || shape->size() != axes_.size()) return false;
  for (size_t i = 0; i < axes_.size(); ++i) {
    const Dim old = dim_of(axes_[i]);
    if (old == (*shape)[i]) continue;
    if (!old.is(1) || !(*shape)[i].is_constant()) return false;
    axes_[i] = {add_factor((*shape)[i], true)};
  }
  return true;
}

// Replaces a factor by two: later factors move up by one.
void View::cut(size_t factor, const Dim& front, const Dim& back, std::vector<size_t>& open, std::vector<Axis>& done) {
  const auto move = [&](size_t& f) { f += f > factor ? 1 : 0; };
  for (Axis& axis : done) std::for_each(axis.begin(), axis.end(), move);
  std::for_each(open.begin(), open.end(), move);
  if (selected_) move(*selected_);
  const bool repeats = factors_[factor].repeats;
  factors_[factor].dim = front;
  factors_.insert(factors_.begin() + static_cast<std::ptrdiff_t>(factor) + 1, {back, repeats});
  open.push_back(factor + 1);
}

// Walks the factors in order and puts as many into each new axis as its size asks for.
bool View::reshape(const Shape& to) {
  std::vector<size_t> open;  // last first
  for (auto axis = axes_.rbegin(); axis != axes_.rend(); ++axis)
    for (auto f = axis->rbegin(); f != axis->rend(); ++f)
      if (!factors_[*f].dim.is(1)) open.push_back(*f);
  std::vector<Axis> done;
  for (const Dim& dim : to) {
    Axis axis;
    Dim left = dim;
    while (!left.is(1)) {
      if (open.empty()) return false;
      const size_t f = open.back();
      const Dim have = factors_[f].dim;
      if (have.is(0) || left.is(0)) return false;
      const Dim over = Dim::floor_div(left, have), rest = Dim::floor_div(have, left);
      open.pop_back();
      if (over * have == left) {
        left = over;
      } else if (rest * left == have) {
        cut(f, left, rest, open, done);
        left = Dim(1);
      } else {
        return false;
      }
      axis.push_back(f);
    }
    done.push_back(std::move(axis));
  }
  if (!open.empty()) return false;
  axes_ = std::move(done);
  return true;
}

bool View::follow(const Graph& graph, ValueId value, bool take_scale) {
  const Node& node = *graph.producer(value);
  if (is_op(node, "Split")) return split(graph, node, value);
  if (is_op(node, "Transpose")) return transpose(graph, node);
  if (is_op(node, "Gather")) return gather(graph, node);
  if (is_op(node, "Expand")) return expand(graph, node);
  const auto& shape = graph.value(node.outputs[0]).type.shape;
  if (is_op(node, "Reshape") || is_op(node, "Squeeze") || is_op(node, "Unsqueeze") || is_op(node, "Flatten"))
    return shape && reshape(*shape);
  const bool divides = is_op(node, "Div");
  if (!take_scale || (!divides && !is_op(node, "Mul")) || !same_type(graph, node.inputs[0], node.outputs[0]))
    return false;
  const auto factor = scalar_of(graph, node.inputs[1]);
  if (!factor || !std::isfinite(*factor) || (divides && *factor == 0)) return false;
  scale_ = divides ? scale_ / *factor : scale_ * *factor;
  return true;
}

constexpr size_t kNone = SIZE_MAX;

// Which of the tensor's `own` axes each memory axis is, when the two shapes differ in axes of one element only. `spare`
// takes the axis that memory lacks; nothing when it lacks more.
std::optional<std::vector<size_t>> own_axes(const Shape& memory, const Shape& own, size_t& spare) {
  std::vector<size_t> ones, rest, found;
  for (size_t i = 0; i < own.size(); ++i) (own[i].is(1) ? ones : rest).push_back(i);
  size_t used_ones = 0, used = 0;
  for (const Dim& dim : memory) {
    const bool one = dim.is(1);
    size_t& next = one ? used_ones : used;
    const std::vector<size_t>& from = one ? ones : rest;
    if (next == from.size() || !(own[from[next]] == dim)) return std::nullopt;
    found.push_back(from[next++]);
  }
  if (used < rest.size() || used_ones + 1 < ones.size()) return std::nullopt;
  if (used_ones < ones.size()) spare = ones[used_ones];
  return found;
}

std::optional<InPlaceOperand> View::in_place(const Graph& graph) const {
  std::vector<size_t> owner(factors_.size(), kNone);  // which axis
  for (size_t a = 0; a < axes_.size(); ++a) {
    bool repeated = false;
    for (const size_t f : axes_[a]) {
      // A repetition may only follow what it repeats.
      if (repeated && !factors_[f].repeats) return std::nullopt;
      repeated = factors_[f].repeats;
      if (!repeated) owner[f] = a;
    }
  }
  // Memory axes, in the order of memory: neighbours of one view axis lie together again.
  Shape memory;
  std::vector<size_t> place(axes_.size(), kNone);
  InPlaceOperand out{source_, {}, {}, {}, scale_};
  size_t last = kNone, selected = kNone;
  for (size_t f = 0; f < factors_.size(); ++f) {
    if (selected_ == f) {
      selected = memory.size();
      memory.push_back(factors_[f].dim);
      last = kNone;
    } else if (owner[f] != kNone && owner[f] == last) {
      memory.back() = memory.back() * factors_[f].dim;
    } else if (owner[f] != kNone) {
      if (place[owner[f]] != kNone) return std::nullopt;  // its parts lie apart
      last = owner[f];
      place[last] = memory.size();
      memory.push_back(factors_[f].dim);
    }
  }
  for (size_t& at : place)
    if (at == kNone) at = memory.size(), memory.emplace_back(1);
  int64_t index = index_;
  if (memory != shape_) {
    size_t spare = kNone;
    const auto own = own_axes(memory, shape_, spare);
    if (own && (spare == kNone || selected == kNone)) {
      for (size_t& at : place) at = (*own)[at];
      if (selected != kNone) selected = (*own)[selected];
      if (spare != kNone) selected = spare, index = 0;
    } else {
      out.target = reshape_target(graph, shape_, memory);
      if (!out.target) return std::nullopt;
    }
  }
  if (selected != kNone) out.select = {static_cast<int64_t>(selected), index};
  for (const size_t at : place)
    out.perm.push_back(static_cast<int64_t>(selected != kNone && at > selected ? at - 1 : at));
  if (std::is_sorted(out.perm.begin(), out.perm.end())) out.perm.clear();
  return out;
}

bool can_look_through(const Node& node) {
  for (const std::string_view op :
       {"Transpose", "Gather", "Split", "Expand", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Mul", "Div"})
    if (is_op(node, op)) return true;
  return false;
}

}  // namespace

std::optional<std::vector<int64_t>> reshape_target(const Graph& graph, const Shape& from, const Shape& to) {
  std::vector<int64_t> target;
  bool open = true, may_be_empty = false;
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i].is_constant() && !to[i].is(0)) {
      target.push_back(*to[i].constant());
    } else if (i < from.size() && from[i] == to[i]) {
      target.push_back(0);
      may_be_empty = may_be_empty || to[i].range(graph.symbols()).min < 1;
    } else {
      if (!open) return std::nullopt;
      open = false;
      target.push_back(-1);
    }
  }
  // -1 next to a dim of 0 cannot be computed.
  if (!open && may_be_empty) return std::nullopt;
  return target;
}

std::optional<InPlaceOperand> trace_operand(const Graph& graph, const OperandRequest& request) {
  // The values on the way up, the operand first. Longer chains gain nothing.
  std::vector<ValueId> chain{request.value};
  while (chain.size() < 16) {
    const Node* node = graph.producer(chain.back());
    if (!node || !can_look_through(*node) || node->inputs[0] == ir::kNoValue) break;
    if (!graph.value(node->inputs[0]).type.is_tensor() || !graph.value(node->inputs[0]).type.has_rank()) break;
    chain.push_back(node->inputs[0]);
  }
  for (; !chain.empty(); chain.pop_back()) {
    const ir::ValueType& type = graph.value(chain.back()).type;
    if (!type.has_rank()) return std::nullopt;
    View view(chain.back(), *type.shape);
    bool known = true;
    for (size_t i = chain.size() - 1; i-- > 0 && known;) known = view.follow(graph, chain[i], request.take_scale);
    if (!known) continue;
    if (request.swap_last) view.swap_last();
    if (request.shape && !view.reshape(*request.shape)) continue;
    if (auto found = view.in_place(graph)) return found;
  }
  return std::nullopt;
}

}  // namespace tutti::compile
