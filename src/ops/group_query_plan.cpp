#include "ops/group_query_plan.h"

#include <algorithm>

#include "ops/infer_common.h"
#include "ops/tensor_rules.h"

namespace tutti::ops {

using namespace ir;

namespace {

using Plan = GroupQueryPlan;

Status check_attributes(const GroupQueryAttentionAttrs& a) {
  if (a.num_heads < 1 || a.kv_num_heads < 1 || a.num_heads > INT32_MAX || a.num_heads % a.kv_num_heads != 0)
    return make_error(Code::kInvalidModel,
                      "attributes num_heads and kv_num_heads are {} and {}, expected a multiple and its divisor, 1 or "
                      "more",
                      a.num_heads, a.kv_num_heads);
  if (a.qk_output < 0 || a.qk_output > 2)
    return make_error(Code::kInvalidModel, "attribute qk_output is {}, expected 0, 1 or 2", a.qk_output);
  if (a.local_window_size != -1 && (a.local_window_size < 1 || !a.causal))
    return make_error(Code::kInvalidModel, "attribute local_window_size is {}, expected -1, or 1 or more with causal 1",
                      a.local_window_size);
  if (!(a.softcap >= 0))
    return make_error(Code::kInvalidModel, "attribute softcap is {}, expected 0 (none) or more", a.softcap);
  if (a.sliding_window_cache)
    return Error(Code::kUnsupported, "attribute sliding_window_cache is 1, expected 0",
                 "export with a cache for the whole sequence");
  if (a.k_quant_type != "NONE" || a.v_quant_type != "NONE")
    return make_error(Code::kUnsupported, "attributes k_quant_type and v_quant_type are {} and {}, expected NONE",
                      a.k_quant_type, a.v_quant_type);
  return ok_status();
}

// Inputs that only make sense together.
template <class Context>
Status check_presence(const Context& context, const GroupQueryAttentionAttrs& a) {
  const auto check_pair = [&](int first, int second, std::string_view names) -> Status {
    if (context.has_input(first) == context.has_input(second)) return ok_status();
    return make_error(Code::kInvalidModel, "found one of {}, expected both or neither", names);
  };
  TUTTI_TRY(check_pair(kKey, kValue, "key and value"));
  TUTTI_TRY(check_pair(kPastKey, kPastValue, "past_key and past_value"));
  TUTTI_TRY(check_pair(kQueryNorm, kKeyNorm, "q_norm_weight and k_norm_weight"));
  if (context.has_input(kKeyScale) || context.has_input(kValueScale))
    return Error(Code::kUnsupported, "k_scale or v_scale is given, expected a cache that is not quantised");
  if (a.do_rotary && !(context.has_input(kCos) && context.has_input(kSin)))
    return Error(Code::kInvalidModel, "attribute do_rotary is 1, expected cos_cache and sin_cache");
  return ok_status();
}

Status check_types(const InferContext& context) {
  TUTTI_TRY(expect_dtype(context, kQuery, {DType::kFloat32, DType::kFloat16, DType::kBFloat16}));
  for (const int same : {kKey, kValue, kPastKey, kPastValue, kCos, kSin, kBias, kSink, kQueryNorm, kKeyNorm})
    TUTTI_TRY(expect_same_dtype(context, kQuery, same));
  for (const int count : {kLengths, kTotal, kQueryLengths}) TUTTI_TRY(expect_dtype(context, count, {DType::kInt32}));
  TUTTI_TRY(expect_dtype(context, kPositions, {DType::kInt64}));
  for (const int rank_3 : {kQuery, kKey, kValue}) TUTTI_TRY(expect_rank(context, rank_3, 3));
  for (const int rank_4 : {kPastKey, kPastValue, kBias}) TUTTI_TRY(expect_rank(context, rank_4, 4));
  for (const int rank_2 : {kCos, kSin, kPositions}) TUTTI_TRY(expect_rank(context, rank_2, 2));
  return ok_status();
}

// The width of `heads` heads of one size.
Result<Dim> head_size(const Dim& width, int64_t heads, std::string_view name) {
  if (const auto known = width.constant(); known && (*known < 1 || *known % heads != 0))
    return make_error(Code::kInvalidModel, "{} has {} columns, expected a multiple of {} heads", name, *known, heads);
  return Dim::floor_div(width, Dim(heads));
}

Status plan_lengths(const EvalContext& context, Plan& plan) {
  const Tensor& lengths = context.input(kLengths);
  TUTTI_TRY(require_equal(lengths.size(), plan.batch, "the number of values of seqlens_k"));
  const bool given = context.has_input(kQueryLengths);
  if (given) TUTTI_TRY(require_dims(context.input(kQueryLengths), {plan.batch}, "query_seqlens"));
  for (int64_t b = 0; b < plan.batch; ++b) {
    const int64_t filled = lengths.get_int(b) + 1;
    if (filled < 1 || filled > plan.total)
      return make_error(Code::kInvalidInput, "seqlens_k[{}] is {}, expected 0 to {}", b, filled - 1, plan.total - 1);
    const int64_t most = std::min(plan.length, filled);
    const int64_t fresh = given ? context.input(kQueryLengths).get_int(b) : most;
    if (fresh < 0 || fresh > most)
      return make_error(Code::kInvalidInput, "query_seqlens[{}] is {}, expected 0 to {}", b, fresh, most);
    if (filled - fresh > plan.past)
      return make_error(Code::kInvalidInput,
                        "seqlens_k[{}] is {} with {} new rows, expected at most {} rows before them in the cache", b,
                        filled - 1, fresh, plan.past);
    plan.start.push_back(filled - fresh);
    plan.fresh.push_back(fresh);
  }
  return ok_status();
}

Status check_operands(const EvalContext& context, const Plan& plan) {
  if (!plan.packed)
    for (const int i : {kKey, kValue})
      TUTTI_TRY(require_dims(context.input(i), {plan.batch, plan.length, plan.kv_heads * plan.size},
                             i == kKey ? "key" : "value"));
  if (context.has_input(kPastKey))
    for (const int i : {kPastKey, kPastValue})
      TUTTI_TRY(require_dims(context.input(i), {plan.batch, plan.kv_heads, plan.past, plan.size},
                             i == kPastKey ? "past_key" : "past_value"));
  for (const int i : {kQueryNorm, kKeyNorm})
    if (context.has_input(i))
      TUTTI_TRY(require_dims(context.input(i), {plan.size}, i == kQueryNorm ? "q_norm_weight" : "k_norm_weight"));
  if (context.has_input(kSink)) TUTTI_TRY(require_dims(context.input(kSink), {plan.heads}, "head_sink"));
  if (!context.has_input(kBias)) return ok_status();
  const Dims& dims = context.input(kBias).dims();
  const bool fits = dims.size() == 4 && (dims[0] == 1 || dims[0] == plan.batch) &&
                    (dims[1] == 1 || dims[1] == plan.heads) && dims[2] == plan.length && dims[3] == plan.total;
  if (fits) return ok_status();
  return make_error(Code::kInvalidInput, "attention_bias has shape {}, expected [1 or {},1 or {},{},{}]",
                    dims_text(dims), plan.batch, plan.heads, plan.length, plan.total);
}

}  // namespace

Status infer_group_query(InferContext& context) {
  const auto& a = context.attrs<GroupQueryAttentionAttrs>();
  TUTTI_TRY(check_attributes(a));
  for (const int required : {kLengths, kTotal}) TUTTI_TRY(expect_present(context, required));
  TUTTI_TRY(check_presence(context, a));
  TUTTI_TRY(check_types(context));
  const DType dtype = context.dtype(kQuery);
  if (!context.shape(kQuery)) {
    for (int i = 0; i < context.output_count(); ++i) context.set_output_unranked(i, dtype);
    return ok_status();
  }
  const Shape& q = *context.shape(kQuery);
  const bool packed = !context.has_input(kKey);
  const Dim size = TUTTI_TRY(head_size(q[2], a.num_heads + (packed ? 2 * a.kv_num_heads : 0), "query"));
  for (const int i : {kKey, kValue}) {
    if (!context.has_input(i) || !context.shape(i)) continue;
    const std::string name = i == kKey ? "key" : "value";
    TUTTI_TRY(require_equal((*context.shape(i))[1], q[1], "the length of " + name));
    TUTTI_TRY(require_equal((*context.shape(i))[2], size * Dim(a.kv_num_heads), "the number of columns of " + name));
  }
  const auto known_total = context.dims_value(kTotal);
  const Dim total = known_total && known_total->size() == 1 ? known_total->front() : context.fresh_dim("total");
  Dim present = total;
  if (context.has_input(kPastKey)) {
    const auto& past = context.shape(kPastKey);
    present = past ? Dim::max((*past)[2], total) : context.fresh_dim("present");
    if (past) TUTTI_TRY(require_equal((*past)[1], Dim(a.kv_num_heads), "the number of heads of past_key"));
  }
  context.set_output(0, dtype, {q[0], q[1], size * Dim(a.num_heads)});
  for (const int i : {1, 2}) context.set_output(i, dtype, {q[0], Dim(a.kv_num_heads), present, size});
  context.set_output(3, dtype, {q[0], Dim(a.num_heads), q[1], total});
  return ok_status();
}

Result<GroupQueryPlan> plan_group_query(const EvalContext& context) {
  const auto& a = context.attrs<GroupQueryAttentionAttrs>();
  TUTTI_TRY(check_attributes(a));
  TUTTI_TRY(check_presence(context, a));
  const Tensor& q = context.input(kQuery);
  TUTTI_TRY(require_equal(q.rank(), 3, "the rank of query"));
  TUTTI_TRY(require_equal(context.input(kTotal).size(), 1, "the number of values of total_sequence_length"));
  Plan plan{.batch = q.dim(0), .length = q.dim(1), .heads = a.num_heads, .kv_heads = a.kv_num_heads};
  plan.packed = !context.has_input(kKey);
  const Dim size = TUTTI_TRY(head_size(Dim(q.dim(2)), plan.heads + (plan.packed ? 2 * plan.kv_heads : 0), "query"));
  plan.size = *size.constant();
  plan.total = context.input(kTotal).get_int(0);
  if (plan.total < 0)
    return make_error(Code::kInvalidInput, "total_sequence_length is {}, expected 0 or more", plan.total);
  if (context.has_input(kPastKey)) {
    TUTTI_TRY(require_equal(context.input(kPastKey).rank(), 4, "the rank of past_key"));
    plan.past = context.input(kPastKey).dim(2);
  }
  plan.present = std::max(plan.past, plan.total);
  TUTTI_TRY(checked_element_count({plan.batch, plan.heads, plan.present, plan.size}));
  TUTTI_TRY(check_operands(context, plan));
  TUTTI_TRY(plan_lengths(context, plan));
  return plan;
}

}  // namespace tutti::ops
