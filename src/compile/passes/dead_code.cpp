// dead_code: nodes whose outputs nobody wants, and constants without uses -> gone. Needs: nothing. Leaves: no dead
// values.
#include "compile/passes/passes.h"
#include "ir/rewrite.h"

namespace tutti::compile {

Result<PassStats> run_dead_code(ir::Graph& graph, PassContext&) {
  const int64_t removed = ir::remove_dead_nodes(graph);
  PassStats stats;
  // Not counted as patches: removing what nobody reads cannot change a result, so there is nothing to bisect.
  if (removed > 0) stats.by_rule.emplace_back("dead_node", removed);
  return stats;
}

}  // namespace tutti::compile
