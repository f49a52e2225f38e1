#include "compile/shared_values.h"

#include <algorithm>
#include <map>
#include <set>

namespace tutti::compile {
namespace {

using Origins = std::vector<std::string>;

// The outermost nodes of one graph, by what they make and what they stand for.
class Index {
 public:
  explicit Index(const ir::Graph& graph) : graph_(graph), order_(graph.order()) {
    for (size_t at = 0; at < order_.size(); ++at) {
      for (const ir::ValueId out : node(at).outputs)
        if (out != ir::kNoValue) makers_.emplace(graph.value(out).name, at);
      for (const std::string& origin : node(at).origins) last_[origin] = at;
    }
  }

  static constexpr size_t kNone = SIZE_MAX;
  size_t size() const { return order_.size(); }
  const ir::Node& node(size_t at) const { return graph_.node(order_[at]); }
  const std::string& name_of(ir::ValueId value) const { return graph_.value(value).name; }
  const Origins& origins(size_t at) const { return node(at).origins; }
  // The node that makes the value of this name, or kNone.
  size_t maker(const std::string& value) const {
    const auto found = makers_.find(value);
    return found == makers_.end() ? kNone : found->second;
  }
  // The last node with any of these origins, or kNone.
  size_t last(const Origins& origins) const {
    size_t out = kNone;
    for (const std::string& origin : origins)
      if (const auto found = last_.find(origin); found != last_.end())
        out = out == kNone ? found->second : std::max(out, found->second);
    return out;
  }
  // Its only output's name, or null.
  const std::string* only_value(size_t at) const {
    const auto& outputs = node(at).outputs;
    return outputs.size() == 1 && outputs[0] != ir::kNoValue ? &name_of(outputs[0]) : nullptr;
  }

 private:
  const ir::Graph& graph_;
  const std::vector<ir::NodeId> order_;
  std::map<std::string, size_t> makers_, last_;
};

// Names that a compiler makes up may be equal by chance.
bool share_origin(const Origins& a, const Origins& b) {
  return std::any_of(a.begin(), a.end(), [&](const auto& o) { return std::find(b.begin(), b.end(), o) != b.end(); });
}

bool same_name(const Index& a, const Index& b, size_t at, const std::string& name) {
  const size_t other = b.maker(name);
  return other != Index::kNone && share_origin(a.origins(at), b.origins(other));
}

// The value of `b` that node `at` of `a` makes by its origins, or null.
const std::string* by_origins(const Index& a, const Index& b, size_t at) {
  const size_t other = b.last(a.origins(at));
  if (other == Index::kNone || !a.only_value(at)) return nullptr;
  Origins both = a.origins(at);
  both.insert(both.end(), b.origins(other).begin(), b.origins(other).end());
  return a.last(both) == at && b.last(both) == other ? b.only_value(other) : nullptr;
}

}  // namespace

std::vector<SharedValue> shared_values(const ir::Graph& graph_a, const ir::Graph& graph_b) {
  const Index a(graph_a), b(graph_b);
  std::vector<SharedValue> out;
  for (size_t at = 0; at < a.size(); ++at) {
    bool named = false;
    for (const ir::ValueId value : a.node(at).outputs)
      if (value != ir::kNoValue && same_name(a, b, at, a.name_of(value))) {
        out.push_back({a.name_of(value), a.name_of(value)});
        named = true;
      }
    if (named) continue;
    const std::string* other = by_origins(a, b, at);
    if (other && !same_name(b, a, b.maker(*other), *other)) out.push_back({*a.only_value(at), *other});
  }
  return out;
}

}  // namespace tutti::compile
