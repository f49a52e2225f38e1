// The tree ensembles of ai.onnx.ml before version 5: nodes and votes are lists that name their tree and their number in
// it.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "onnx/node_builder.h"

namespace tutti::onnx {

// Such a forest in the terms of ops::kTreeEnsemble. A value type.
struct OldForest {
  std::vector<int64_t> features, modes, yes, yes_leaf, no, no_leaf, missing, roots, leaf_starts, targets;
  std::vector<double> splits, weights, base_values;
  bool wide = false;  // thresholds or weights are float64

  // Takes the attributes nodes_*, base_values and VOTES_* ("target" or "class") of a node. Errors name what does not
  // fit: lists of different lengths, children or votes without a node, targets outside of [0, target_count).
  static Result<OldForest> read(NodeBuilder& node, const std::string& votes, int64_t target_count);
  // Refuses attributes that nothing has taken.
  static Status check_all_read(const NodeBuilder& node);
  // The operator's inputs after X, in order; undefined where absent.
  std::array<ir::Tensor, 14> tensors() const;
};

}  // namespace tutti::onnx
