// Rewriting: a rule looks at one node and returns a named patch or nothing; a driver applies patches to a fixpoint.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ir/op_def.h"

namespace tutti::ir {

// New nodes and constants, and which values they replace. Made against an unchanged graph; nothing is edited before
// apply(). New values have ids from `first_new_id` upwards inside the patch. Move-only.
class Patch {
 public:
  Patch(const Graph& graph, std::string name) : graph_(&graph), name_(std::move(name)) {}

  ValueId constant(Tensor tensor);
  ValueId node(const OpDef& op, std::vector<ValueId> inputs, Attrs attrs = {});
  std::vector<ValueId> node_outputs(const OpDef& op, std::vector<ValueId> inputs, Attrs attrs, int output_count);
  // Every use of `old_value` (graph outputs too) becomes `new_value`, an old or a new id.
  void replace(ValueId old_value, ValueId new_value) { replacements_.push_back({old_value, new_value}); }
  // Nodes whose origins and name the new nodes inherit; the rule's root is always among them.
  void absorbs(NodeId node) { absorbed_.push_back(node); }
  const std::string& name() const { return name_; }

 private:
  friend class PatchApplier;
  struct Replacement {
    ValueId old_value, new_value;
  };
  struct NewNode {
    const OpDef* op;
    Attrs attrs;
    std::vector<ValueId> inputs;
    int first_output;
    int output_count;
  };
  const Graph* graph_;
  std::string name_;
  std::vector<NewNode> nodes_;
  std::vector<std::pair<ValueId, Tensor>> constants_;
  std::vector<Replacement> replacements_;
  std::vector<NodeId> absorbed_;
  int32_t new_values_ = 0;
};

// A rule is tried on nodes whose op is one of `roots` (all nodes when empty).
struct Rule {
  std::string_view name;
  std::vector<const OpDef*> roots;
  std::function<std::optional<Patch>(const Graph&, NodeId)> match;
};

struct RewriteOptions {
  int64_t patch_limit = INT64_MAX;  // --stop-after-patch
  bool check_each_patch = true;     // the patch's nodes and their users
};
struct RewriteStats {
  int64_t patches = 0;
  std::vector<std::pair<std::string, int64_t>> by_rule;
};

// Applies the rules to a fixpoint with a worklist (O(n log n) for local rules); dead nodes that a patch leaves are
// removed. Replacing a value by one of another type is an error unless the new type is more precise. Bodies are
// rewritten too.
Result<RewriteStats> rewrite(Graph& graph, std::span<const Rule> rules, const RewriteOptions& options = {});

// Removes nodes whose outputs nobody wants, and constants without uses. Returns how many nodes went.
int64_t remove_dead_nodes(Graph& graph);

}  // namespace tutti::ir
