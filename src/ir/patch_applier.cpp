#include "ir/patch_applier.h"

#include <algorithm>

#include "ir/infer.h"

namespace tutti::ir {
namespace {

// A value of type `found` may stand where `expected` stood.
bool may_replace(const ValueType& found, const ValueType& expected) {
  if (found.kind != expected.kind || found.is_optional != expected.is_optional || found.dtype != expected.dtype)
    return false;
  if (!expected.shape) return true;
  if (!found.shape || found.shape->size() != expected.shape->size()) return false;
  for (size_t i = 0; i < found.shape->size(); ++i) {
    if (Dim::never_equal((*found.shape)[i], (*expected.shape)[i])) return false;
    if (!(*found.shape)[i].is_constant() && (*expected.shape)[i].is_constant()) return false;
  }
  return true;
}

void add_unique(std::vector<std::string>& into, const std::string& name) {
  if (!name.empty() && std::find(into.begin(), into.end(), name) == into.end()) into.push_back(name);
}

// `fresh` names new unknowns where `old` already had a name or a number.
void keep_old_names(ValueType& fresh, const ValueType& old) {
  if (!fresh.shape || !old.shape || fresh.shape->size() != old.shape->size()) return;
  for (size_t i = 0; i < fresh.shape->size(); ++i)
    if (!(*fresh.shape)[i].is_constant()) (*fresh.shape)[i] = (*old.shape)[i];
}

}  // namespace

ValueId PatchApplier::mapped(ValueId id) const { return id < base_ ? id : new_ids_[static_cast<size_t>(id - base_)]; }

void PatchApplier::collect_origins() {
  patch_.absorbed_.insert(patch_.absorbed_.begin(), root_);
  for (const NodeId id : patch_.absorbed_) {
    const Node& node = graph_.node(id);
    if (node.origins.empty()) add_unique(origins_, node.name);
    for (const std::string& origin : node.origins) add_unique(origins_, origin);
  }
  node_name_ = graph_.node(root_).name;
}

void PatchApplier::add_constants() {
  for (auto& [id, tensor] : patch_.constants_)
    new_ids_[static_cast<size_t>(id - base_)] = graph_.add_constant(graph_.unique_name("c"), std::move(tensor));
}

Status PatchApplier::add_nodes() {
  for (Patch::NewNode& made : patch_.nodes_) {
    NodeSpec spec{.op = made.op, .attrs = std::move(made.attrs), .name = node_name_, .origins = origins_};
    for (const ValueId in : made.inputs) spec.inputs.push_back(in == kNoValue ? kNoValue : mapped(in));
    for (int i = 0; i < made.output_count; ++i) spec.output_names.push_back(graph_.unique_name("v"));
    const NodeId id = graph_.add_node(std::move(spec), root_);
    for (int i = 0; i < made.output_count; ++i)
      new_ids_[static_cast<size_t>(made.first_output + i - base_)] = graph_.node(id).outputs[static_cast<size_t>(i)];
    touched_.push_back(id);
    TUTTI_TRY(infer_node(graph_, id));
  }
  return {};
}

Status PatchApplier::replace_values() {
  for (const auto& [old_id, replacement] : patch_.replacements_) {
    const ValueId new_id = mapped(replacement);
    Value& old_value = graph_.value(old_id);
    Value& new_value = graph_.value(new_id);
    if (!may_replace(new_value.type, old_value.type))
      return make_error(Code::kInternal, "value '{}': found a replacement of type {}, expected {}", old_value.name,
                        new_value.type.text(), old_value.type.text());
    for (const Use& use : old_value.uses) {
      changed_users_.push_back(use.node);
      touched_.push_back(use.node);
    }
    if (replacement >= base_) std::swap(old_value.name, new_value.name);
    graph_.replace_uses(old_id, new_id);
  }
  return {};
}

// Iterative: a dead chain may be as long as the graph.
void PatchApplier::remove_dead(NodeId start) {
  std::vector<NodeId> waiting{start};
  while (!waiting.empty()) {
    const NodeId id = waiting.back();
    waiting.pop_back();
    if (!graph_.node(id).alive) continue;
    const auto wanted = [&](ValueId out) {
      return out != kNoValue && (!graph_.value(out).uses.empty() || graph_.is_output(out));
    };
    if (std::any_of(graph_.node(id).outputs.begin(), graph_.node(id).outputs.end(), wanted)) {
      touched_.push_back(id);
      continue;
    }
    const std::vector<ValueId> inputs = graph_.node(id).inputs;
    graph_.remove_node(id);
    for (const ValueId in : inputs) {
      if (in == kNoValue || !graph_.value(in).alive) continue;
      const Value& value = graph_.value(in);
      if (value.producer != kNoNode)
        waiting.push_back(value.producer);
      else if (value.is_constant() && value.uses.empty() && !graph_.is_output(in))
        graph_.remove_value(in);
      // A value with one use left may now be fused into it.
      if (value.uses.size() == 1) touched_.push_back(value.uses[0].node);
    }
  }
}

Status PatchApplier::apply() {
  new_ids_.assign(static_cast<size_t>(patch_.new_values_), kNoValue);
  collect_origins();
  std::vector<NodeId> suspects{root_};
  for (const auto& replacement : patch_.replacements_)
    if (const NodeId producer = graph_.value(replacement.old_value).producer; producer != kNoNode)
      suspects.push_back(producer);
  add_constants();
  TUTTI_TRY(add_nodes());
  const std::vector<NodeId> made = touched_;
  TUTTI_TRY(replace_values());
  suspects.insert(suspects.end(), made.rbegin(), made.rend());
  for (const NodeId id : suspects) remove_dead(id);
  for (const auto& constant : patch_.constants_) {
    const ValueId id = mapped(constant.first);
    if (graph_.value(id).alive && graph_.value(id).uses.empty() && !graph_.is_output(id)) graph_.remove_value(id);
  }
  return {};
}

Result<bool> reinfer_keeping_symbols(Graph& graph, NodeId id) {
  struct Before {
    ValueType type;
    std::optional<std::vector<Dim>> dims_value;
  };
  std::vector<Before> before;
  for (const ValueId out : graph.node(id).outputs)
    before.push_back(out == kNoValue ? Before{} : Before{graph.value(out).type, graph.value(out).dims_value});
  const size_t symbols = graph.symbols().size();
  TUTTI_TRY(infer_node(graph, id));
  bool changed = false;
  for (size_t i = 0; i < before.size(); ++i) {
    const ValueId out = graph.node(id).outputs[i];
    if (out == kNoValue) continue;
    Value& value = graph.value(out);
    if (graph.symbols().size() != symbols) keep_old_names(value.type, before[i].type);
    changed = changed || !(value.type == before[i].type) || !(value.dims_value == before[i].dims_value);
  }
  return changed;
}

}  // namespace tutti::ir
