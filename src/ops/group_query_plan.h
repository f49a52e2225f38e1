// What the shape rule and the kernel of GroupQueryAttention agree on: inputs, checks and extents.
#pragma once

#include <vector>

#include "ops/group_query_attention.h"

namespace tutti::ops {

enum GroupQueryInput {
  kQuery,
  kKey,
  kValue,
  kPastKey,
  kPastValue,
  kLengths,
  kTotal,
  kCos,
  kSin,
  kPositions,
  kBias,
  kSink,
  kKeyScale,
  kValueScale,
  kQueryNorm,
  kKeyNorm,
  kQueryLengths
};

// The extents of one call. Entry b has `fresh[b]` valid rows, which follow `start[b]` cached ones.
struct GroupQueryPlan {
  int64_t batch = 0, length = 0, heads = 0, kv_heads = 0, size = 0, past = 0, present = 0, total = 0;
  bool packed = false;
  std::vector<int64_t> start, fresh;
};

// Checks attributes, presence and every dimension; errors name the input.
Result<GroupQueryPlan> plan_group_query(const ir::EvalContext& context);
Status infer_group_query(ir::InferContext& context);

}  // namespace tutti::ops
