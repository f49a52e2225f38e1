#include "ops/control_types.h"

#include <algorithm>

namespace tutti::ops {

using ir::Dim;
using ir::InferContext;
using ir::Shape;
using ir::ValueType;

namespace {

Result<ValueType> merge_kinds(const ValueType& a, const ValueType& b) {
  ValueType merged = a;
  merged.is_optional = a.is_optional || b.is_optional;
  merged.shape.reset();
  if (a.dtype == ir::DType::kUndefined && a.is_optional) return ValueType{b.kind, true, b.dtype, {}};
  if (b.dtype == ir::DType::kUndefined && b.is_optional) return merged;
  if (a.kind != b.kind || a.dtype != b.dtype)
    return make_error(Code::kInvalidModel,
                      "a value is {} on one path and {} on another; both must be of one element type", a.text(),
                      b.text());
  return merged;
}

constexpr int kMostLoopsBelowKnownDims = 2, kMostLoopsBelowOpenDims = 7;

// Levels of loops inside the node's bodies.
int loops_below(const ir::Node& node) {
  int deepest = 0;
  for (const auto& body : node.bodies)
    for (ir::NodeId id = body->first_node(); id != ir::kNoNode; id = body->next_node(id)) {
      const ir::Node& inner = body->node(id);
      if (inner.bodies.empty()) continue;
      const bool is_loop = inner.op->name == "Loop" || inner.op->name == "Scan";
      deepest = std::max(deepest, loops_below(inner) + (is_loop ? 1 : 0));
    }
  return deepest;
}

}  // namespace

Result<ValueType> merge_types(InferContext& context, const ValueType& a, const ValueType& b) {
  ValueType merged = TUTTI_TRY(merge_kinds(a, b));
  if (!a.shape || !b.shape || a.shape->size() != b.shape->size()) return merged;
  Shape shape;
  for (size_t i = 0; i < a.shape->size(); ++i)
    shape.push_back((*a.shape)[i] == (*b.shape)[i] ? (*a.shape)[i] : context.fresh_dim("branch"));
  merged.shape = std::move(shape);
  return merged;
}

BodyTypeExporter::BodyTypeExporter(InferContext& context) : context_(context) {
  std::vector<std::string> names;
  for (int i = 0; i < context.input_count(); ++i) {
    if (!context.has_input(i) || !context.shape(i)) continue;
    for (const Dim& dim : *context.shape(i)) dim.collect_symbols(names);
  }
  outer_symbols_.insert(names.begin(), names.end());
}

Shape BodyTypeExporter::operator()(Shape shape) {
  for (Dim& dim : shape) {
    std::vector<std::string> names;
    dim.collect_symbols(names);
    bool known = true;
    for (const std::string& name : names) known = known && outer_symbols_.contains(name);
    if (!known) dim = context_.fresh_dim("body");
  }
  return shape;
}

ValueType BodyTypeExporter::operator()(ValueType type) {
  if (type.shape) type.shape = (*this)(*std::move(type.shape));
  return type;
}

CarriedTypes::CarriedTypes(InferContext& context, std::vector<ValueType> initial)
    : context_(context), types_(std::move(initial)) {
  const int below = loops_below(context.node());
  for (ValueType& type : types_) {
    if (below > kMostLoopsBelowOpenDims) type.shape.reset();
    const bool open = below > kMostLoopsBelowKnownDims;
    varying_.emplace_back(type.shape ? type.shape->size() : 0, open);
    for (size_t d = 0; open && type.shape && d < type.shape->size(); ++d)
      (*type.shape)[d] = context_.fresh_dim("carried");
  }
}

Result<bool> CarriedTypes::widen(std::span<const ValueType> produced) {
  bool changed = false;
  for (size_t i = 0; i < types_.size(); ++i) {
    ValueType& type = types_[i];
    ValueType merged = TUTTI_TRY(merge_kinds(type, produced[i]));
    if (merged.is_optional != type.is_optional || merged.dtype != type.dtype) {
      merged.shape = type.shape;
      type = std::move(merged);
      changed = true;
    }
    if (!type.shape) continue;
    if (!produced[i].shape || produced[i].shape->size() != type.shape->size()) {
      type.shape.reset();
      changed = true;
      continue;
    }
    for (size_t d = 0; d < type.shape->size(); ++d) {
      if (varying_[i][d] || (*type.shape)[d] == (*produced[i].shape)[d]) continue;
      varying_[i][d] = true;
      (*type.shape)[d] = context_.fresh_dim("carried");
      changed = true;
    }
  }
  return changed;
}

ValueType CarriedTypes::result(size_t index) {
  ValueType type = types_[index];
  if (!type.shape) return type;
  for (size_t d = 0; d < type.shape->size(); ++d)
    if (varying_[index][d]) (*type.shape)[d] = context_.fresh_dim("carried");
  return type;
}

}  // namespace tutti::ops
