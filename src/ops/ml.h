// ai.onnx.ml: the operators that plain ones do not express. What their ONNX forms have as lists of attributes are
// constant inputs here, so that a large forest is weights and not text.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "ir/op_def.h"

namespace tutti::ops {

enum class TreeAggregate : uint8_t { kAverage, kSum, kMin, kMax };
inline constexpr std::array<std::string_view, 4> kTreeAggregateNames{"AVERAGE", "SUM", "MIN", "MAX"};
enum class TreeTransform : uint8_t { kNone, kSoftmax, kLogistic, kSoftmaxZero, kProbit };
inline constexpr std::array<std::string_view, 5> kTreeTransformNames{"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO",
                                                                     "PROBIT"};

// TreeEnsemble: X [N,F], nodes_splits [M], nodes_modes [M], nodes_featureids [M], nodes_truenodeids [M],
// nodes_trueleafs [M], nodes_falsenodeids [M], nodes_falseleafs [M], tree_roots [T], leaf_targetids [L],
// leaf_weights [L], membership_values?, nodes_missing_value_tracks_true? [M], leaf_starts? [leaves + 1], base_values?
// [targets]; float inputs have the type of X. Output [N,targets]. With leaf_starts, leaf i contributes the weights from
// leaf_starts[i] up to leaf_starts[i + 1]; without it, weight i alone. base_values are added to the sums. A target that
// no leaf contributes to is 0. Indices that no node or leaf has, and trees that do not end, are errors of the run.
struct TreeEnsembleAttrs : ir::AttrsOf<TreeEnsembleAttrs> {
  TreeAggregate aggregate_function = TreeAggregate::kSum;
  TreeTransform post_transform = TreeTransform::kNone;
  int64_t n_targets = 1;
  void fields(ir::FieldVisitor& v) {
    v.choice("aggregate_function", aggregate_function, kTreeAggregateNames);
    v.choice("post_transform", post_transform, kTreeTransformNames);
    v.field("n_targets", n_targets);
  }
};

extern const ir::OpDef kLabelEncoder;  // X, keys [n], values [n], default [1]: each element's value, by its key
extern const ir::OpDef kTreeEnsemble;

}  // namespace tutti::ops
