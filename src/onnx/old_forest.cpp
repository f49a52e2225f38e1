#include "onnx/old_forest.h"

#include <algorithm>
#include <map>

namespace tutti::onnx {
namespace {

using ir::DType;
using ir::Tensor;
using Ints = std::vector<int64_t>;
using Strings = std::vector<std::string>;

constexpr int64_t kLeaf = -1;
constexpr std::string_view kModes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"};

Result<int64_t> mode_of(const std::string& name) {
  if (name == "LEAF") return kLeaf;
  const auto at = std::find(std::begin(kModes), std::end(kModes), name);
  if (at == std::end(kModes))
    return make_error(Code::kInvalidModel, "attribute 'nodes_modes': found '{}', expected BRANCH_LEQ, ... or LEAF",
                      name);
  return at - std::begin(kModes);
}

// NAME or NAME_as_tensor; `wide` becomes true for the latter's float64.
Result<std::vector<double>> take_reals(NodeBuilder& node, const std::string& name, bool& wide) {
  std::vector<double> out;
  if (const auto proto = node.attrs.take<pb::TensorProto*>(name + "_as_tensor")) {
    const Tensor tensor = TUTTI_TRY(node.read_tensor(**proto));
    wide = wide || tensor.dtype() == DType::kFloat64;
    for (int64_t i = 0; i < tensor.size(); ++i) out.push_back(tensor.get_double(i));
  } else if (const auto list = node.attrs.take<std::vector<float>>(name)) {
    for (const float value : *list) out.push_back(static_cast<double>(value));
  }
  return out;
}

Result<Ints> take_ints(NodeBuilder& node, const std::string& name, size_t count) {
  const auto list = node.attrs.take<Ints>(name);
  if (list && list->size() == count) return *list;
  return make_error(Code::kInvalidModel, "attribute '{}': found {} values, expected {}", name, list ? list->size() : 0,
                    count);
}

using NodeKey = std::pair<int64_t, int64_t>;  // tree, number within it

// The nodes as the model lists them, and where each stands.
struct NodeList {
  Ints trees, numbers, features, yes, no, missing, modes;
  std::vector<double> splits;
  std::map<NodeKey, size_t> places;

  size_t size() const { return trees.size(); }
  Result<size_t> find(int64_t tree, int64_t number) const {
    const auto at = places.find({tree, number});
    if (at != places.end()) return at->second;
    return make_error(Code::kInvalidModel, "tree {} has no node {}, which a branch or a vote names", tree, number);
  }
};

Result<NodeList> read_nodes(NodeBuilder& node, bool& wide) {
  NodeList out;
  const auto modes = node.attrs.take<Strings>("nodes_modes");
  const size_t count = modes ? modes->size() : 0;
  out.trees = TUTTI_TRY(take_ints(node, "nodes_treeids", count));
  out.numbers = TUTTI_TRY(take_ints(node, "nodes_nodeids", count));
  out.features = TUTTI_TRY(take_ints(node, "nodes_featureids", count));
  out.yes = TUTTI_TRY(take_ints(node, "nodes_truenodeids", count));
  out.no = TUTTI_TRY(take_ints(node, "nodes_falsenodeids", count));
  out.missing = Ints(count, 0);
  if (node.attrs.has("nodes_missing_value_tracks_true"))
    out.missing = TUTTI_TRY(take_ints(node, "nodes_missing_value_tracks_true", count));
  out.splits = TUTTI_TRY(take_reals(node, "nodes_values", wide));
  if (out.splits.size() != count)
    return make_error(Code::kInvalidModel, "attribute 'nodes_values': found {} values, expected {}", out.splits.size(),
                      count);
  for (size_t i = 0; i < count; ++i) {
    out.modes.push_back(TUTTI_TRY(mode_of((*modes)[i])));
    if (!out.places.emplace(NodeKey{out.trees[i], out.numbers[i]}, i).second)
      return make_error(Code::kInvalidModel, "tree {} has node {} twice", out.trees[i], out.numbers[i]);
  }
  node.attrs.erase("nodes_hitrates");
  node.attrs.erase("nodes_hitrates_as_tensor");
  return out;
}

// Numbers inner nodes and leafs apart, in the order of the list.
Ints number_apart(const NodeList& nodes) {
  Ints out;
  int64_t inner = 0, leafs = 0;
  for (const int64_t mode : nodes.modes) out.push_back(mode == kLeaf ? leafs++ : inner++);
  return out;
}

// The inner nodes, and the trees' roots: those that are nobody's child. A tree that is one leaf gets a node above it.
Status add_nodes(const NodeList& nodes, const Ints& ids, OldForest& forest) {
  std::vector<bool> is_child(nodes.size(), false);
  const auto add = [&](size_t i, size_t yes, size_t no) {
    forest.features.push_back(nodes.modes[i] == kLeaf ? 0 : nodes.features[i]);
    forest.modes.push_back(std::max<int64_t>(nodes.modes[i], 0));
    forest.splits.push_back(nodes.splits[i]);
    forest.missing.push_back(nodes.missing[i]);
    forest.yes.push_back(ids[yes]), forest.yes_leaf.push_back(nodes.modes[yes] == kLeaf);
    forest.no.push_back(ids[no]), forest.no_leaf.push_back(nodes.modes[no] == kLeaf);
  };
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes.modes[i] == kLeaf) continue;
    const size_t yes = TUTTI_TRY(nodes.find(nodes.trees[i], nodes.yes[i])),
                 no = TUTTI_TRY(nodes.find(nodes.trees[i], nodes.no[i]));
    is_child[yes] = is_child[no] = true;
    add(i, yes, no);
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (is_child[i]) continue;
    if (nodes.modes[i] == kLeaf) add(i, i, i);
    forest.roots.push_back(nodes.modes[i] == kLeaf ? static_cast<int64_t>(forest.modes.size()) - 1 : ids[i]);
  }
  return {};
}

// The votes, ordered by leaf.
Status add_votes(NodeBuilder& node, const std::string& votes, const NodeList& nodes, const Ints& ids,
                 OldForest& forest) {
  const auto weights = TUTTI_TRY(take_reals(node, votes + "_weights", forest.wide));
  const Ints trees = TUTTI_TRY(take_ints(node, votes + "_treeids", weights.size())),
             numbers = TUTTI_TRY(take_ints(node, votes + "_nodeids", weights.size())),
             targets = TUTTI_TRY(take_ints(node, votes + "_ids", weights.size()));
  std::vector<std::pair<int64_t, size_t>> order;  // leaf, vote
  for (size_t i = 0; i < weights.size(); ++i) {
    const size_t at = TUTTI_TRY(nodes.find(trees[i], numbers[i]));
    if (nodes.modes[at] != kLeaf)
      return make_error(Code::kInvalidModel, "a vote names node {} of tree {}, expected a leaf", numbers[i], trees[i]);
    order.emplace_back(ids[at], i);
  }
  std::sort(order.begin(), order.end());
  const int64_t leafs = std::count(nodes.modes.begin(), nodes.modes.end(), kLeaf);
  for (int64_t leaf = 0; leaf <= leafs; ++leaf)
    forest.leaf_starts.push_back(std::lower_bound(order.begin(), order.end(), std::pair(leaf, size_t{0})) -
                                 order.begin());
  for (const auto& [leaf, vote] : order) {
    forest.targets.push_back(targets[vote]);
    forest.weights.push_back(weights[vote]);
  }
  return {};
}

}  // namespace

Result<OldForest> OldForest::read(NodeBuilder& node, const std::string& votes, int64_t target_count) {
  OldForest forest;
  const NodeList nodes = TUTTI_TRY(read_nodes(node, forest.wide));
  const Ints ids = number_apart(nodes);
  TUTTI_TRY(add_nodes(nodes, ids, forest));
  TUTTI_TRY(add_votes(node, votes, nodes, ids, forest));
  forest.base_values = TUTTI_TRY(take_reals(node, "base_values", forest.wide));
  for (const int64_t target : forest.targets)
    if (target < 0 || target >= target_count)
      return make_error(Code::kInvalidModel, "attribute '{}_ids': found {}, expected 0 to {}", votes, target,
                        target_count - 1);
  return forest;
}

Status OldForest::check_all_read(const NodeBuilder& node) {
  if (node.attrs.entries().empty()) return {};
  return make_error(Code::kUnsupported, "attribute '{}' is not known for this operator",
                    node.attrs.entries().front().first);
}

std::array<Tensor, 14> OldForest::tensors() const {
  const auto reals = [&](const std::vector<double>& list) {
    Tensor out = Tensor::zeros(wide ? DType::kFloat64 : DType::kFloat32, {static_cast<int64_t>(list.size())});
    for (size_t i = 0; i < list.size(); ++i) out.set_double(static_cast<int64_t>(i), list[i]);
    return out;
  };
  const auto ints = [](const Ints& list, DType dtype = DType::kInt64) {
    Tensor out = Tensor::zeros(dtype, {static_cast<int64_t>(list.size())});
    for (size_t i = 0; i < list.size(); ++i) out.set_int(static_cast<int64_t>(i), list[i]);
    return out;
  };
  return {reals(splits),     ints(modes, DType::kUInt8),
          ints(features),    ints(yes),
          ints(yes_leaf),    ints(no),
          ints(no_leaf),     ints(roots),
          ints(targets),     reals(weights),
          Tensor(),          ints(missing),
          ints(leaf_starts), base_values.empty() ? Tensor() : reals(base_values)};
}

}  // namespace tutti::onnx
