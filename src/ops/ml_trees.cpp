#include <algorithm>
#include <cmath>
#include <optional>

#include "ops/infer_common.h"
#include "ops/ml.h"
#include "ops/tensor_rules.h"

namespace tutti::ops {
namespace {

using ir::Dim;
using ir::DType;
using ir::EvalContext;
using ir::InferContext;
using ir::Tensor;

enum Input {
  kX,
  kSplits,
  kModes,
  kFeatures,
  kTrueIds,
  kTrueLeafs,
  kFalseIds,
  kFalseLeafs,
  kRoots,
  kTargets,
  kWeights,
  kMembers,
  kMissing,
  kLeafStarts,
  kBaseValues
};
constexpr std::string_view kNames[] = {"X",
                                       "nodes_splits",
                                       "nodes_modes",
                                       "nodes_featureids",
                                       "nodes_truenodeids",
                                       "nodes_trueleafs",
                                       "nodes_falsenodeids",
                                       "nodes_falseleafs",
                                       "tree_roots",
                                       "leaf_targetids",
                                       "leaf_weights",
                                       "membership_values",
                                       "nodes_missing_value_tracks_true",
                                       "leaf_starts",
                                       "base_values"};
enum Mode { kLessEqual, kLess, kGreaterEqual, kGreater, kEqual, kNotEqual, kMember };

Status check_targets(int64_t n_targets) {
  if (n_targets >= 1 && n_targets <= INT32_MAX) return ok_status();
  return make_error(Code::kInvalidModel, "attribute n_targets is {}, expected 1 or more", n_targets);
}

Status infer_tree_ensemble(InferContext& context) {
  const int64_t targets = context.attrs<TreeEnsembleAttrs>().n_targets;
  TUTTI_TRY(check_targets(targets));
  TUTTI_TRY(expect_dtype(context, kX, {DType::kFloat32, DType::kFloat64, DType::kFloat16}));
  TUTTI_TRY(expect_rank(context, kX, 2));
  for (const int same : {kSplits, kWeights, kMembers, kBaseValues}) TUTTI_TRY(expect_same_dtype(context, kX, same));
  TUTTI_TRY(expect_dtype(context, kModes, {DType::kUInt8}));
  for (const int i : {kFeatures, kTrueIds, kTrueLeafs, kFalseIds, kFalseLeafs, kRoots, kTargets, kMissing, kLeafStarts})
    TUTTI_TRY(expect_dtype(context, i, {DType::kInt64}));
  for (int i = kSplits; i <= kBaseValues; ++i) TUTTI_TRY(expect_rank(context, i, 1));
  if (const auto& splits = context.shape(kSplits))
    for (const int i : {kModes, kFeatures, kTrueIds, kTrueLeafs, kFalseIds, kFalseLeafs, kMissing})
      TUTTI_TRY(require_vector(context, i, (*splits)[0], kNames[i]));
  if (const auto& leafs = context.shape(kTargets))
    TUTTI_TRY(require_vector(context, kWeights, (*leafs)[0], kNames[kWeights]));
  TUTTI_TRY(require_vector(context, kBaseValues, Dim(targets), kNames[kBaseValues]));
  const Dim rows = context.shape(kX) ? (*context.shape(kX))[0] : context.fresh_dim("rows");
  context.set_output(0, context.dtype(kX), {rows, Dim(targets)});
  return ok_status();
}

struct Branch {
  int64_t id = 0;  // of a node, or of a leaf
  bool leaf = false;
};

struct TreeNode {
  int64_t feature = 0;
  double split = 0;
  int64_t mode = kLessEqual;
  bool missing_is_true = false;
  Branch yes, no;
  std::vector<double> members;
};

struct Forest {
  std::vector<TreeNode> nodes;
  std::vector<int64_t> roots;
  std::vector<int64_t> leaf_starts;
  std::vector<int64_t> targets;  // of votes, like the weights
  std::vector<double> weights;
};

// The list at input `i`, which must have `count` elements, each in [0, limit).
Result<std::vector<int64_t>> read_ids(const EvalContext& context, int i, int64_t count, int64_t limit) {
  const Tensor& list = context.input(i);
  TUTTI_TRY(require_dims(list, {count}, kNames[i]));
  std::vector<int64_t> ids = list.to_int64();
  for (const int64_t id : ids)
    if (id < 0 || id >= limit)
      return make_error(Code::kInvalidInput, "{} has the value {}, expected 0 to {}", kNames[i], id, limit - 1);
  return ids;
}

struct Counts {
  int64_t nodes, leafs;
};

Result<std::vector<Branch>> read_branches(const EvalContext& context, int ids, int leafs, Counts counts) {
  const auto numbers = TUTTI_TRY(read_ids(context, ids, counts.nodes, INT64_MAX));
  const auto flags = TUTTI_TRY(read_ids(context, leafs, counts.nodes, 2));
  std::vector<Branch> out;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const int64_t limit = flags[i] != 0 ? counts.leafs : counts.nodes;
    if (numbers[i] >= limit)
      return make_error(Code::kInvalidInput, "{} has the value {} for a {}, expected 0 to {}", kNames[ids], numbers[i],
                        flags[i] != 0 ? "leaf" : "node", limit - 1);
    out.push_back({numbers[i], flags[i] != 0});
  }
  return out;
}

// The members of each set node, in the order of the nodes, each set ended by a NaN.
Status read_members(const EvalContext& context, Forest& forest) {
  int64_t at = 0;
  const int64_t count = context.has_input(kMembers) ? context.input(kMembers).size() : 0;
  for (TreeNode& node : forest.nodes) {
    if (node.mode != kMember) continue;
    while (at < count && !std::isnan(context.input(kMembers).get_double(at)))
      node.members.push_back(context.input(kMembers).get_double(at++));
    if (at == count)
      return Error(Code::kInvalidInput, "membership_values ends too soon, expected a set and a NaN for each set node");
    ++at;
  }
  return ok_status();
}

// Where each leaf's votes start, and the end.
Result<std::vector<int64_t>> read_leaf_starts(const EvalContext& context, int64_t votes) {
  std::vector<int64_t> starts;
  if (!context.has_input(kLeafStarts)) {
    for (int64_t i = 0; i <= votes; ++i) starts.push_back(i);
    return starts;
  }
  starts = context.input(kLeafStarts).to_int64();
  if (starts.empty() || starts.front() != 0 || starts.back() != votes || !std::is_sorted(starts.begin(), starts.end()))
    return make_error(Code::kInvalidInput, "leaf_starts does not ascend from 0 to {}, the number of votes", votes);
  return starts;
}

Result<Forest> read_forest(const EvalContext& context) {
  Forest forest;
  const int64_t nodes = context.input(kSplits).size(), votes = context.input(kWeights).size();
  const auto features =
      TUTTI_TRY(read_ids(context, kFeatures, nodes, context.input(kX).rank() == 2 ? context.input(kX).dim(1) : 0));
  const auto modes = TUTTI_TRY(read_ids(context, kModes, nodes, kMember + 1));
  const auto missing = context.has_input(kMissing) ? TUTTI_TRY(read_ids(context, kMissing, nodes, 2))
                                                   : std::vector<int64_t>(static_cast<size_t>(nodes), 0);
  forest.targets = TUTTI_TRY(read_ids(context, kTargets, votes, context.attrs<TreeEnsembleAttrs>().n_targets));
  forest.roots = TUTTI_TRY(read_ids(context, kRoots, context.input(kRoots).size(), nodes));
  forest.leaf_starts = TUTTI_TRY(read_leaf_starts(context, votes));
  const Counts counts{nodes, static_cast<int64_t>(forest.leaf_starts.size()) - 1};
  const auto yes = TUTTI_TRY(read_branches(context, kTrueIds, kTrueLeafs, counts)),
             no = TUTTI_TRY(read_branches(context, kFalseIds, kFalseLeafs, counts));
  for (size_t i = 0; i < static_cast<size_t>(nodes); ++i)
    forest.nodes.push_back({features[i],
                            context.input(kSplits).get_double(static_cast<int64_t>(i)),
                            modes[i],
                            missing[i] != 0,
                            yes[i],
                            no[i],
                            {}});
  for (int64_t i = 0; i < votes; ++i) forest.weights.push_back(context.input(kWeights).get_double(i));
  TUTTI_TRY(read_members(context, forest));
  return forest;
}

bool goes_true(const TreeNode& node, double x) {
  if (std::isnan(x) && node.missing_is_true) return true;
  switch (node.mode) {
    case kLessEqual: return x <= node.split;
    case kLess: return x < node.split;
    case kGreaterEqual: return x >= node.split;
    case kGreater: return x > node.split;
    case kEqual: return x == node.split;
    case kNotEqual: return x != node.split;
    default: return std::find(node.members.begin(), node.members.end(), x) != node.members.end();
  }
}

// The leaf that a row of X arrives at.
Result<size_t> find_leaf(const Forest& forest, int64_t root, const Tensor& x, int64_t row) {
  Branch at{root, false};
  for (size_t steps = 0; !at.leaf; ++steps) {
    if (steps == forest.nodes.size())
      return make_error(Code::kInvalidInput, "the tree from node {} does not end: its nodes form a circle", root);
    const TreeNode& node = forest.nodes[static_cast<size_t>(at.id)];
    at = goes_true(node, x.get_double(row * x.dim(1) + node.feature)) ? node.yes : node.no;
  }
  return static_cast<size_t>(at.id);
}

// The number whose error function is `y`: Winitzki's approximation, refined by Newton's method.
double inverse_erf(double y) {
  if (std::fabs(y) == 1) return std::copysign(INFINITY, y);
  if (!(std::fabs(y) < 1)) return NAN;
  constexpr double kA = 0.147, kPi = 3.14159265358979323846;
  const double l = std::log1p(-y * y), b = 2 / (kPi * kA) + l / 2;
  double x = std::copysign(std::sqrt(std::sqrt(b * b - l / kA) - b), y);
  for (int i = 0; i < 3; ++i) x -= (std::erf(x) - y) * std::sqrt(kPi) / 2 * std::exp(x * x);
  return x;
}

// SOFTMAX_ZERO leaves zeros out.
void softmax(std::span<double> scores, bool keep_zeros) {
  double top = -INFINITY, sum = 0;
  for (const double x : scores) top = std::max(top, x);
  for (double& x : scores) sum += x = keep_zeros && x == 0 ? 0 : std::exp(x - top);
  for (double& x : scores) x = sum > 0 ? x / sum : 0;
}

void transform(std::span<double> scores, TreeTransform kind) {
  switch (kind) {
    case TreeTransform::kNone: return;
    case TreeTransform::kSoftmax: return softmax(scores, false);
    case TreeTransform::kSoftmaxZero: return softmax(scores, true);
    case TreeTransform::kLogistic:
      for (double& x : scores) x = 1 / (1 + std::exp(-x));
      return;
    case TreeTransform::kProbit:
      for (double& x : scores) x = std::sqrt(2.0) * inverse_erf(2 * x - 1);
  }
}

double combined(TreeAggregate kind, const std::optional<double>& so_far, double weight) {
  if (!so_far) return weight;
  if (kind == TreeAggregate::kMin) return std::min(*so_far, weight);
  if (kind == TreeAggregate::kMax) return std::max(*so_far, weight);
  return *so_far + weight;
}

// What the trees say about one row: for each target the combined votes.
Status collect_votes(const Forest& forest, const Tensor& x, int64_t row, TreeAggregate kind,
                     std::vector<std::optional<double>>& totals) {
  for (const int64_t root : forest.roots) {
    const size_t leaf = TUTTI_TRY(find_leaf(forest, root, x, row));
    for (auto vote = static_cast<size_t>(forest.leaf_starts[leaf]);
         vote < static_cast<size_t>(forest.leaf_starts[leaf + 1]); ++vote) {
      auto& total = totals[static_cast<size_t>(forest.targets[vote])];
      total = combined(kind, total, forest.weights[vote]);
    }
  }
  return ok_status();
}

Status eval_tree_ensemble(EvalContext& context) {
  const auto& attrs = context.attrs<TreeEnsembleAttrs>();
  TUTTI_TRY(check_targets(attrs.n_targets));
  const Tensor& x = context.input(kX);
  TUTTI_TRY(require_equal(x.rank(), 2, "the rank of X"));
  const Forest forest = TUTTI_TRY(read_forest(context));
  const Tensor* base = context.has_input(kBaseValues) ? &context.input(kBaseValues) : nullptr;
  if (base) TUTTI_TRY(require_dims(*base, {attrs.n_targets}, kNames[kBaseValues]));
  Tensor& y = *TUTTI_TRY(context.output(0, x.dtype(), {x.dim(0), attrs.n_targets}));
  const double share = attrs.aggregate_function == TreeAggregate::kAverage
                           ? 1 / static_cast<double>(std::max<size_t>(forest.roots.size(), 1))
                           : 1;
  std::vector<double> scores(static_cast<size_t>(attrs.n_targets));
  for (int64_t row = 0; row < x.dim(0); ++row) {
    std::vector<std::optional<double>> totals(scores.size());
    TUTTI_TRY(collect_votes(forest, x, row, attrs.aggregate_function, totals));
    for (size_t t = 0; t < scores.size(); ++t)
      scores[t] = totals[t].value_or(0) * share + (base ? base->get_double(static_cast<int64_t>(t)) : 0);
    transform(scores, attrs.post_transform);
    for (size_t t = 0; t < scores.size(); ++t) y.set_double(row * attrs.n_targets + static_cast<int64_t>(t), scores[t]);
  }
  return ok_status();
}

}  // namespace

const ir::OpDef kTreeEnsemble{.name = "TreeEnsemble",
                              .min_inputs = 11,
                              .max_inputs = 15,
                              .make_attrs = ir::make_attrs<TreeEnsembleAttrs>,
                              .infer = infer_tree_ensemble,
                              .eval = eval_tree_ensemble,
                              .tolerance = ir::Tolerance::kApproximate};

}  // namespace tutti::ops
