#include "onnx/order.h"

#include <algorithm>
#include <queue>
#include <string_view>
#include <unordered_set>

namespace tutti::onnx {
namespace {

std::string describe(const pb::NodeProto& node) { return fmt::format("'{}' ({})", node.name(), node.op_type()); }

// Calls `use(name)` for everything a node reads: its inputs and what its bodies need.
template <class Use>
void for_each_input(const pb::NodeProto& node, FreeNames& free_names, Use use) {
  for (const std::string& name : node.input())
    if (!name.empty()) use(name);
  for (const pb::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g())
      for (const std::string& name : free_names.of(attribute.g())) use(name);
  }
}

struct Dependencies {
  std::vector<std::vector<int>> users;  // by node
  std::vector<int> waiting;             // how many inputs of a node are not made yet
  bool in_order = true;
};

Result<Dependencies> find_dependencies(const Nodes& nodes, FreeNames& free_names) {
  std::unordered_map<std::string_view, int> makers;
  for (int i = 0; i < nodes.size(); ++i) {
    for (const std::string& name : nodes[i].output()) {
      if (name.empty()) continue;
      const auto [at, fresh] = makers.emplace(name, i);
      if (!fresh)
        return make_error(Code::kInvalidModel, "value '{}': found two nodes that make it, {} and {}, expected one",
                          name, describe(nodes[at->second]), describe(nodes[i]));
    }
  }
  Dependencies out{std::vector<std::vector<int>>(static_cast<size_t>(nodes.size())),
                   std::vector<int>(static_cast<size_t>(nodes.size())), true};
  for (int i = 0; i < nodes.size(); ++i) {
    for_each_input(nodes[i], free_names, [&](const std::string& name) {
      const auto maker = makers.find(name);
      if (maker == makers.end()) return;
      out.users[static_cast<size_t>(maker->second)].push_back(i);
      ++out.waiting[static_cast<size_t>(i)];
      out.in_order = out.in_order && maker->second < i;
    });
  }
  return out;
}

Error cycle_error(const Nodes& nodes, const std::vector<int>& waiting) {
  constexpr int kNamed = 5;
  std::string names;
  int count = 0;
  for (int i = 0; i < nodes.size(); ++i) {
    if (waiting[static_cast<size_t>(i)] == 0 || count++ >= kNamed) continue;
    names += (names.empty() ? "" : ", ") + describe(nodes[i]);
  }
  return make_error(Code::kInvalidModel,
                    "the graph has a cycle: found {} nodes on it or after it ({}{}), expected an acyclic graph", count,
                    names, count > kNamed ? ", ..." : "");
}

}  // namespace

const std::vector<std::string>& FreeNames::of(const pb::GraphProto& graph) {
  if (const auto found = known_.find(&graph); found != known_.end()) return found->second;
  std::unordered_set<std::string_view> defined;
  for (const auto& input : graph.input()) defined.insert(input.name());
  for (const auto& tensor : graph.initializer()) defined.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) defined.insert(tensor.values().name());
  for (const auto& node : graph.node()) defined.insert(node.output().begin(), node.output().end());
  std::vector<std::string> out;
  std::unordered_set<std::string> seen;
  const auto use = [&](const std::string& name) {
    if (!defined.contains(name) && seen.insert(name).second) out.push_back(name);
  };
  for (const auto& node : graph.node()) for_each_input(node, *this, use);
  for (const auto& output : graph.output()) use(output.name());
  return known_.emplace(&graph, std::move(out)).first->second;
}

Result<std::vector<int>> execution_order(const Nodes& nodes, FreeNames& free_names) {
  Dependencies found = TUTTI_TRY(find_dependencies(nodes, free_names));
  std::vector<int> order;
  order.reserve(static_cast<size_t>(nodes.size()));
  if (found.in_order) {
    for (int i = 0; i < nodes.size(); ++i) order.push_back(i);
    return order;
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < nodes.size(); ++i)
    if (found.waiting[static_cast<size_t>(i)] == 0) ready.push(i);
  while (!ready.empty()) {
    const int node = ready.top();
    ready.pop();
    order.push_back(node);
    for (const int user : found.users[static_cast<size_t>(node)])
      if (--found.waiting[static_cast<size_t>(user)] == 0) ready.push(user);
  }
  if (static_cast<int>(order.size()) != nodes.size()) return cycle_error(nodes, found.waiting);
  return order;
}

}  // namespace tutti::onnx
