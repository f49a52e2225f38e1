#include "compile/lower.h"

#include <set>

#include "ir/infer.h"
#include "ir/op_def.h"
#include "ir/rewrite.h"
#include "ir/verify.h"

namespace tutti::compile {
namespace {

void name_nodes(ir::Graph& graph, const std::string& prefix, std::set<std::string>& taken) {
  for (const ir::NodeId id : graph.order()) {
    ir::Node& node = graph.node(id);
    const std::string base = node.name.empty() ? prefix + std::string(node.op->name) : node.name;
    std::string name = base;
    for (int i = 1; !taken.insert(name).second; ++i) name = base + "_" + std::to_string(i);
    node.name = std::move(name);
    for (size_t i = 0; i < node.bodies.size(); ++i) name_nodes(*node.bodies[i], node.name + "/", taken);
  }
}

}  // namespace

Result<engine::PlanPtr> lower(ir::Graph graph, LowerOptions options) {
  ir::remove_dead_nodes(graph);
  std::set<std::string> taken;
  name_nodes(graph, "", taken);
  TUTTI_TRY(ir::infer_graph(graph).with_context("lower"));
  TUTTI_TRY(ir::verify_graph(graph).with_context("lower"));
  auto plan = std::make_shared<engine::Plan>();
  plan->graph = std::move(graph);
  plan->kernels = std::move(options.kernels);
  plan->provenance = std::move(options.provenance);
  return engine::PlanPtr(std::move(plan));
}

}  // namespace tutti::compile
