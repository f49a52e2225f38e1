// Tree ensembles of ai.onnx.ml. The older forms, in which nodes and votes name their tree, become the newest.
#include <algorithm>
#include <set>

#include "onnx/map.h"
#include "onnx/old_forest.h"

namespace tutti::onnx {
namespace {

using ir::DType;
using ir::Tensor;
using ir::ValueId;
using Ints = std::vector<int64_t>;

Status tree_ensemble(NodeBuilder& node) {
  std::vector<ValueId> inputs{node.input(0)};
  const auto add_tensor = [&](std::string_view name, bool required) -> Status {
    const auto proto = node.attrs.take<pb::TensorProto*>(name);
    if (!proto && required)
      return make_error(Code::kInvalidModel, "attribute '{}': found none, expected a tensor", name);
    inputs.push_back(proto ? node.add_constant(TUTTI_TRY(node.read_tensor(**proto))) : ir::kNoValue);
    return {};
  };
  const auto add_ints = [&](std::string_view name, bool required) -> Status {
    const auto values = node.attrs.take<Ints>(name);
    if (!values && required)
      return make_error(Code::kInvalidModel, "attribute '{}': found none, expected integers", name);
    inputs.push_back(values ? node.ints(*values) : ir::kNoValue);
    return {};
  };
  node.attrs.erase("nodes_hitrates");
  TUTTI_TRY(add_tensor("nodes_splits", true));
  TUTTI_TRY(add_tensor("nodes_modes", true));
  for (const char* name : {"nodes_featureids", "nodes_truenodeids", "nodes_trueleafs", "nodes_falsenodeids",
                           "nodes_falseleafs", "tree_roots", "leaf_targetids"})
    TUTTI_TRY(add_ints(name, true));
  TUTTI_TRY(add_tensor("leaf_weights", true));
  TUTTI_TRY(add_tensor("membership_values", false));
  TUTTI_TRY(add_ints("nodes_missing_value_tracks_true", false));
  return node.finish("TreeEnsemble", std::move(inputs));
}

// The operator's input in the type of the forest's thresholds: float64 where one of them is, else float32.
Result<ValueId> features_of(NodeBuilder& node, OldForest& forest) {
  TUTTI_TRY(node.require_inputs({0}));
  forest.wide = forest.wide || node.input_type(0).dtype == DType::kFloat64;
  return node.cast(node.input(0), forest.wide ? DType::kFloat64 : DType::kFloat32);
}

// Scores [N, targets] in float32.
Result<ValueId> scores_of(NodeBuilder& node, const OldForest& forest, ValueId x, const AttrMap& attributes) {
  std::vector<ValueId> inputs{x};
  for (const Tensor& tensor : forest.tensors())
    inputs.push_back(tensor.defined() ? node.add_constant(tensor) : ir::kNoValue);
  return node.cast(TUTTI_TRY(node.add("TreeEnsemble", std::move(inputs), attributes)), DType::kFloat32);
}

Status tree_ensemble_regressor(NodeBuilder& node) {
  const int64_t targets = node.attrs.take<int64_t>("n_targets").value_or(1);
  const AttrMap attributes{{"n_targets", targets},
                           {"aggregate_function", node.attrs.take<std::string>("aggregate_function").value_or("SUM")},
                           {"post_transform", node.attrs.take<std::string>("post_transform").value_or("NONE")}};
  OldForest forest = TUTTI_TRY(OldForest::read(node, "target", targets));
  TUTTI_TRY(forest.check_all_read(node));
  const ValueId x = TUTTI_TRY(features_of(node, forest));
  node.set_output(0, TUTTI_TRY(scores_of(node, forest, x, attributes)));
  return {};
}

// The label at each position.
Result<ValueId> label_at(NodeBuilder& node, const Tensor& labels, ValueId positions) {
  return node.add("Gather", {node.add_constant(labels), positions}, {{"axis", int64_t{0}}});
}

// Whether the votes for one of two classes are margins (some are negative) or like probabilities: the second class is
// taken above 0, or above 0.5.
bool is_margin(const OldForest& forest) {
  return std::any_of(forest.weights.begin(), forest.weights.end(), [](double w) { return w < 0; });
}

Status set_label_by_limit(NodeBuilder& node, const OldForest& forest, const Tensor& labels, ValueId score) {
  const ValueId limit = node.number(DType::kFloat32, is_margin(forest) ? 0 : 0.5);
  const ValueId above = TUTTI_TRY(node.add("Greater", {score, limit}));
  const ValueId position = TUTTI_TRY(node.cast(above, DType::kInt64));
  node.set_output(0, TUTTI_TRY(label_at(node, labels, TUTTI_TRY(node.add("Squeeze", {position, node.ints({1})})))));
  return {};
}

// One score s that stands for both of two classes, its votes being for the first: a logistic score gives those of -s
// and s, a margin (-s, s), a probability (1 - s, s).
Status two_classes(NodeBuilder& node, const OldForest& forest, ValueId x, const Tensor& labels,
                   const std::string& transform) {
  if (transform == "PROBIT")
    return Error(Code::kUnsupported, "attribute 'post_transform': found PROBIT for one score of two classes");
  const ValueId score = TUTTI_TRY(scores_of(node, forest, x, {}));
  TUTTI_TRY(set_label_by_limit(node, forest, labels, score));
  const bool logistic = transform == "LOGISTIC";
  const ValueId other = logistic || is_margin(forest)
                            ? TUTTI_TRY(node.add("Neg", {score}))
                            : TUTTI_TRY(node.add("Sub", {node.number(DType::kFloat32, 1), score}));
  const ValueId both = TUTTI_TRY(node.add("Concat", {other, score}, {{"axis", int64_t{1}}}));
  node.set_output(1, logistic ? TUTTI_TRY(node.add("Sigmoid", {both})) : both);
  return {};
}

Result<Tensor> take_labels(NodeBuilder& node) {
  const auto texts = node.attrs.take<std::vector<std::string>>("classlabels_strings");
  const auto numbers = node.attrs.take<Ints>("classlabels_int64s");
  if (texts.has_value() == numbers.has_value())
    return make_error(Code::kInvalidModel, "attributes 'classlabels_...': found {}, expected exactly one",
                      texts ? "two" : "none");
  if (texts) return Tensor::strings({static_cast<int64_t>(texts->size())}, *texts);
  return Tensor::from<int64_t>({static_cast<int64_t>(numbers->size())}, std::span<const int64_t>(*numbers));
}

Status tree_ensemble_classifier(NodeBuilder& node) {
  const Tensor labels = TUTTI_TRY(take_labels(node));
  const std::string transform = node.attrs.take<std::string>("post_transform").value_or("NONE");
  OldForest forest = TUTTI_TRY(OldForest::read(node, "class", labels.size()));
  TUTTI_TRY(forest.check_all_read(node));
  const ValueId x = TUTTI_TRY(features_of(node, forest));
  const std::set<int64_t> voted(forest.targets.begin(), forest.targets.end());
  const bool one_score = labels.size() == 2 && voted.size() == 1;
  if (one_score && forest.base_values.size() == 2)
    return Error(Code::kUnsupported, "found two base values for one score of two classes, expected one or none");
  if (one_score && *voted.begin() == 0) return two_classes(node, forest, x, labels, transform);
  const ValueId raw = TUTTI_TRY(scores_of(node, forest, x, {{"n_targets", labels.size()}}));
  if (one_score) {
    const ValueId second = TUTTI_TRY(node.add("Slice", {raw, node.ints({1}), node.ints({2}), node.ints({1})}));
    TUTTI_TRY(set_label_by_limit(node, forest, labels, second));
  } else {
    const ValueId top = TUTTI_TRY(node.add("ArgMax", {raw}, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}}));
    node.set_output(0, TUTTI_TRY(label_at(node, labels, top)));
  }
  if (!node.wants_output(1)) return {};
  const AttrMap transformed{{"n_targets", labels.size()}, {"post_transform", transform}};
  node.set_output(1, transform == "NONE" ? raw : TUTTI_TRY(scores_of(node, forest, x, transformed)));
  return {};
}

constexpr MapRow kRows[] = {
    {"TreeEnsemble", 5, tree_ensemble},
    {"TreeEnsembleClassifier", 1, tree_ensemble_classifier},
    {"TreeEnsembleRegressor", 1, tree_ensemble_regressor},
};

}  // namespace

std::span<const MapRow> ml_tree_rows() { return kRows; }

}  // namespace tutti::onnx
