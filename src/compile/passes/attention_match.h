// Recognises attention written out: a product of queries and keys, what is done to the scores, softmax, a product with
// values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace tutti::compile {

// A bias or mask, and the batch axes of the scores that it meets.
struct ScoreAddend {
  ir::ValueId value = ir::kNoValue;
  ir::Shape level;
};

// softmax(mask(cap(scale * query_factor * q k') + biases)) v. The batch axes of the scores may be cut finer for a while
// and merged again (windows of a shifted-window mask): `working` are the finest.
struct AttentionMatch {
  ir::ValueId q = ir::kNoValue, k = ir::kNoValue, v = ir::kNoValue;
  bool keys_are_rows = false;  // k is [..., Sk, D]; else [..., D, Sk]
  double scale = 1, softcap = 0;
  ir::ValueId query_factor = ir::kNoValue;  // one number per query or head, which multiplies the scores as well
  std::vector<ScoreAddend> biases;
  std::optional<ScoreAddend> mask;
  bool mask_hides = false;  // true in the mask replaces the score
  double masked_value = 0;
  bool zero_masked_rows = false;
  ir::Shape product_level, softmax_level, working;
  std::vector<ir::NodeId> absorbed;
};

// From the product with values. Nothing when the node's left operand is no softmax; a reason when it is and the rest
// does not fit.
struct AttentionFinding {
  std::optional<AttentionMatch> match;
  std::string reason;
  ir::NodeId softmax = ir::kNoNode;
};
std::optional<AttentionFinding> find_attention(const ir::Graph& graph, ir::NodeId product);

// How many consecutive axes of `fine` make each axis of `coarse`; nothing when they do not.
std::optional<std::vector<size_t>> axis_groups(const ir::Shape& coarse, const ir::Shape& fine);

}  // namespace tutti::compile
