// Losses: NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "ir/op_def.h"

namespace tutti::ops {

enum class LossReduction : uint8_t { kNone, kSum, kMean };
inline constexpr std::array<std::string_view, 3> kLossReductionNames{"none", "sum", "mean"};

// Of both losses. A target equal to `ignore_index` counts nothing.
struct LossAttrs : ir::AttrsOf<LossAttrs> {
  std::optional<int64_t> ignore_index;
  LossReduction reduction = LossReduction::kMean;
  void fields(ir::FieldVisitor& v) {
    v.field("ignore_index", ignore_index);
    v.choice("reduction", reduction, kLossReductionNames);
  }
};

extern const ir::OpDef
    kNegativeLogLikelihoodLoss;  // input [N,C,d...] of log-probabilities, target [N,d...], weight [C]?
extern const ir::OpDef
    kSoftmaxCrossEntropyLoss;  // scores [N,C,d...], labels [N,d...], weights [C]?; outputs loss, log_prob?

}  // namespace tutti::ops
