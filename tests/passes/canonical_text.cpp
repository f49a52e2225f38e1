#include "passes/canonical_text.h"

#include <map>

#include "ir/op_def.h"
#include "ir/text.h"

namespace tutti::test {
namespace {

using ir::Graph;
using ir::ValueId;

class Renamer {
 public:
  explicit Renamer(const Graph& from) : from_(from) {}

  Graph run() {
    for (const ir::Port& port : from_.inputs())
      ids_[port.value] = to_.add_input(port.name, from_.value(port.value).type);
    for (const ir::NodeId id : from_.order()) copy(from_.node(id));
    for (const ir::Port& port : from_.outputs()) to_.add_output(port.name, mapped(port.value));
    return std::move(to_);
  }

 private:
  ValueId mapped(ValueId id) {
    if (id == ir::kNoValue) return id;
    if (const auto known = ids_.find(id); known != ids_.end()) return known->second;
    return ids_[id] = to_.add_constant(fmt::format("c{}", constants_++), from_.value(id).constant);
  }

  void copy(const ir::Node& node) {
    ir::NodeSpec spec{.op = node.op, .attrs = node.attrs};
    for (const ValueId in : node.inputs) spec.inputs.push_back(mapped(in));
    for (const ValueId out : node.outputs)
      spec.output_names.push_back(out == ir::kNoValue ? "" : fmt::format("v{}", values_++));
    for (const auto& body : node.bodies) spec.bodies.push_back(std::make_unique<Graph>(Renamer(*body).run()));
    const ir::NodeId made = to_.add_node(std::move(spec));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == ir::kNoValue) continue;
      ids_[node.outputs[i]] = to_.node(made).outputs[i];
      to_.value(to_.node(made).outputs[i]).type = from_.value(node.outputs[i]).type;
    }
  }

  const Graph& from_;
  Graph to_;
  std::map<ValueId, ValueId> ids_;
  int constants_ = 0, values_ = 0;
};

}  // namespace

std::string canonical_text(const Graph& graph) { return ir::print_graph(Renamer(graph).run()); }

}  // namespace tutti::test
