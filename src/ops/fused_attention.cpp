#include "ops/fused_attention.h"

#include <limits>

#include "ops/fused.h"
#include "ops/fused_build.h"

namespace tutti::ops {
namespace {

using ir::DType;
using ir::ValueId;

class Expansion {
 public:
  explicit Expansion(const ir::ExpandQuery& query)
      : a_(query.attrs.as<FusedAttentionAttrs>()), b_(query), dtype_(query.inputs[0].dtype) {}

  Result<ir::Graph> build() && {
    const ValueId q = TUTTI_TRY(operand(kAttentionQ, a_.q_select, a_.q_perm));
    ValueId k = TUTTI_TRY(operand(kAttentionK, a_.k_select, a_.k_perm));
    ValueId v = TUTTI_TRY(operand(kAttentionV, a_.v_select, a_.v_perm));
    k = TUTTI_TRY(with_heads_of(q, k));
    v = TUTTI_TRY(with_heads_of(q, v));
    ValueId y = b_.node("MatMul", {probabilities(scores(q, k)), v});
    if (!a_.out_perm.empty()) y = b_.node("Transpose", {y}, {{"perm", a_.out_perm}});
    return std::move(b_).finish(y);
  }

 private:
  const ir::ValueType& type(ValueId value) { return b_.builder().type(value); }

  Result<ValueId> operand(size_t i, const std::vector<int64_t>& select, const std::vector<int64_t>& perm) {
    ValueId x = b_.input(i);
    if (!select.empty() && select.size() != 2)
      return make_error(Code::kInvalidModel, "input {}: found a selection of {} numbers, expected axis and index", i,
                        select.size());
    if (!select.empty()) x = b_.node("Gather", {x, b_.builder().scalar<int64_t>(select[1])}, {{"axis", select[0]}});
    if (!perm.empty()) x = b_.node("Transpose", {x}, {{"perm", perm}});
    if (x == ir::kNoValue) return x;  // finish() says why
    if (!type(x).has_rank() || type(x).rank() < 2)
      return make_error(Code::kInvalidModel, "input {}: found {}, expected rank 2 or more", i, type(x).text());
    return x;
  }

  // Repeats each of the fewer heads of K or V for a group of Q's: [..., Hk, S, D] -> [..., Hk * group, S, D].
  Result<ValueId> with_heads_of(ValueId q, ValueId x) {
    if (q == ir::kNoValue || x == ir::kNoValue || type(q).rank() < 3 || type(x).rank() < 3) return x;
    const ir::Shape shape = *type(x).shape;
    const size_t rank = shape.size();
    const auto wanted = type(q).shape->at(type(q).shape->size() - 3).constant(), found = shape[rank - 3].constant();
    if (!wanted || !found || *found <= 1 || *wanted <= *found || *wanted % *found != 0) return x;
    const auto size = shape[rank - 1].constant();
    if (!size)
      return make_error(Code::kInvalidModel,
                        "found {} heads for {} heads of queries and a head size of {}, expected a known size", *found,
                        *wanted, shape[rank - 1].text());
    const auto axis = static_cast<int64_t>(rank) - 2;
    std::vector<int64_t> times(rank + 1, 1), target(rank - 3, 0);
    times[static_cast<size_t>(axis)] = *wanted / *found;
    target.insert(target.end(), {*wanted, -1, *size});
    x = b_.node("Unsqueeze", {x, b_.builder().ints({axis})});
    x = b_.node("Expand", {x, b_.builder().ints(times)});
    return b_.node("Reshape", {x, b_.builder().ints(target)});
  }

  ValueId transposed(ValueId k) {
    if (k == ir::kNoValue) return k;
    std::vector<int64_t> perm;
    for (int64_t i = 0; i < type(k).rank(); ++i) perm.push_back(i);
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    return b_.node("Transpose", {k}, {{"perm", perm}});
  }

  ValueId scores(ValueId q, ValueId k) {
    ValueId s = b_.node("MatMul", {q, transposed(k)});
    if (a_.scale != 1) s = b_.node("Mul", {s, b_.scalar(dtype_, a_.scale)});
    if (a_.softcap > 0) {
      const ValueId cap = b_.scalar(dtype_, a_.softcap);
      s = b_.node("Mul", {b_.node("Tanh", {b_.node("Div", {s, cap})}), cap});
    }
    for (const size_t i : {kAttentionBias, kAttentionBias2})
      if (b_.input(i) != ir::kNoValue) s = b_.node("Add", {s, b_.input(i)});
    constexpr double kHidden = -std::numeric_limits<double>::infinity();
    if (const ValueId mask = b_.input(kAttentionMask); mask != ir::kNoValue)
      s = b_.node("Where", {mask, s, b_.scalar(dtype_, a_.masked_value ? *a_.masked_value : kHidden)});
    if (a_.causal) s = b_.node("Where", {lower_triangle(s), s, b_.scalar(dtype_, kHidden)});
    return s;
  }

  ValueId lower_triangle(ValueId s) {
    const ValueId shape = b_.node("Shape", {s}, {{"start", int64_t{-2}}});
    const ValueId ones = b_.node("Expand", {b_.builder().scalar(true), shape});
    return b_.node("Trilu", {ones}, {{"upper", false}});
  }

  ValueId probabilities(ValueId s) {
    const ValueId p = b_.node("Softmax", {s}, {{"axis", int64_t{-1}}});
    if (!a_.zero_masked_rows) return p;
    return b_.node("Where", {b_.node("IsNaN", {p}), b_.scalar(dtype_, 0), p});
  }

  const FusedAttentionAttrs& a_;
  ExpansionBuilder b_;
  DType dtype_;
};

Result<ir::Graph> expand_attention(const ir::ExpandQuery& query) { return Expansion(query).build(); }

}  // namespace

const ir::OpDef kFusedAttention{
    .name = "tutti.FusedAttention",
    .min_inputs = 3,
    .max_inputs = 6,
    .make_attrs = ir::make_attrs<FusedAttentionAttrs>,
    .infer = infer_by_expansion,
    .expand = expand_attention,
    .tolerance = ir::Tolerance::kApproximate,
};

}  // namespace tutti::ops
