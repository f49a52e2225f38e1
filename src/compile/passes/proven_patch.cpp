#include "compile/passes/proven_patch.h"

#include "compile/passes/match.h"

namespace tutti::compile {

ProvenPatch::Made ProvenPatch::old(ir::ValueId value) {
  if (value == ir::kNoValue) return {};
  const auto [slot, fresh] = old_.try_emplace(value);
  if (fresh) slot->second = {value, trial_.input("in" + std::to_string(value), graph_.value(value).type)};
  return slot->second;
}

ProvenPatch::Made ProvenPatch::constant(const ir::Tensor& tensor) {
  return {patch_.constant(tensor), trial_.constant(tensor)};
}

ProvenPatch::Made ProvenPatch::node(const ir::OpDef& op, const std::vector<Made>& inputs, const ir::Attrs& attrs) {
  std::vector<ir::ValueId> in_patch, in_trial;
  for (const Made& in : inputs) in_patch.push_back(in.in_patch), in_trial.push_back(in.in_trial);
  const ir::Attrs filled = attrs.empty() && op.make_attrs ? ir::Attrs(op.make_attrs()) : attrs;
  return {patch_.node(op, std::move(in_patch), filled), trial_.node(op, std::move(in_trial), filled)};
}

ProvenPatch::Made ProvenPatch::reshaped(Made x, const std::vector<int64_t>& target) {
  const auto [slot, fresh] = reshaped_.try_emplace({x.in_patch, target});
  if (!fresh) return slot->second;
  const auto [shape, new_shape] = targets_.try_emplace(target);
  const auto rank = static_cast<int64_t>(target.size());
  if (new_shape) shape->second = constant(ir::Tensor::from<int64_t>({rank}, std::span<const int64_t>(target)));
  return slot->second = node(op_named("Reshape"), {x, shape->second});
}

std::optional<ir::Shape> ProvenPatch::shape(Made x) {
  if (x.in_trial == ir::kNoValue) return std::nullopt;
  return trial_.type(x.in_trial).shape;
}

std::optional<ir::Patch> ProvenPatch::replacing(ir::ValueId old_value, Made y) && {
  if (y.in_trial == ir::kNoValue || !(trial_.type(y.in_trial) == graph_.value(old_value).type)) return std::nullopt;
  trial_.output("y", y.in_trial);
  if (!std::move(trial_).finish().ok()) return std::nullopt;
  patch_.replace(old_value, y.in_patch);
  return std::move(patch_);
}

}  // namespace tutti::compile
