// Carries out one patch; the rewriting driver's tool (ir/rewrite.h is what passes use).
#pragma once

#include "ir/rewrite.h"

namespace tutti::ir {

// One thread at a time; used once.
class PatchApplier {
 public:
  PatchApplier(Graph& graph, Patch& patch, NodeId root)
      : graph_(graph), patch_(patch), root_(root), base_(graph.value_capacity()) {}
  // Inserts the new nodes before the root, infers them, checks the replacements' types, replaces, and removes what
  // died. An error leaves the graph unusable: it is a bug of the rule.
  Status apply();
  // Users of replaced values: their types may have become more precise.
  const std::vector<NodeId>& changed_users() const { return changed_users_; }
  // Nodes around which other rules may match now: new ones, users, and producers that lost a use.
  const std::vector<NodeId>& touched() const { return touched_; }

 private:
  void add_constants();
  Status add_nodes();
  Status replace_values();
  void remove_dead(NodeId node);
  ValueId mapped(ValueId id) const;
  void collect_origins();

  Graph& graph_;
  Patch& patch_;
  NodeId root_;
  ValueId base_;
  std::vector<ValueId> new_ids_;
  std::vector<std::string> origins_;
  std::string node_name_;
  std::vector<NodeId> changed_users_, touched_;
};

// Infers a node again. Dimensions that come out as new unknowns keep their old names, so that a repetition changes
// nothing. Says whether an output's type or known elements changed.
Result<bool> reinfer_keeping_symbols(Graph& graph, NodeId node);

}  // namespace tutti::ir
