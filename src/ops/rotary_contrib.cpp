#include "ops/attention_contrib.h"
#include "ops/compute_view.h"
#include "ops/tensor_rules.h"

namespace tutti::ops {

using namespace ir;

namespace {

Status infer_contrib_rotary(InferContext& context) {
  TUTTI_TRY(require_float(context, 0, "input"));
  if (context.dtype(1) != DType::kInt64)
    return make_error(Code::kInvalidModel, "position_ids has element type {}, expected int64",
                      dtype_name(context.dtype(1)));
  TUTTI_TRY(require_rank(context, 2, 2, "cos_cache"));
  TUTTI_TRY(require_rank(context, 3, 2, "sin_cache"));
  if (const auto& x = context.shape(0); x && x->size() != 3 && x->size() != 4)
    return make_error(Code::kInvalidModel, "input has shape {}, expected [B,S,H] or [B,N,S,D]", shape_text(*x));
  set_like_input(context);
  return ok_status();
}

// Vectors of `size` elements, of which the first `rotated` turn.
struct RotaryPlan {
  int64_t batch, heads, length, size, rotated;
  bool split;  // [B,S,N,D] in memory, else [B,N,S,D]
};

Result<RotaryPlan> plan_rotary(const EvalContext& context) {
  const auto& attrs = context.attrs<ContribRotaryEmbeddingAttrs>();
  const Tensor &x = context.input(0), &cosines = context.input(2);
  TUTTI_TRY(require_equal(cosines.rank(), 2, "the rank of cos_cache"));
  TUTTI_TRY(require_dims(context.input(3), cosines.dims(), "sin_cache"));
  RotaryPlan plan{x.rank() > 0 ? x.dim(0) : 0, 0, 0, 0, 2 * cosines.dim(1), x.rank() == 3};
  if (attrs.num_heads < 0)
    return make_error(Code::kInvalidModel, "attribute num_heads is {}, expected 0 or more", attrs.num_heads);
  if (x.rank() == 4) {
    plan.heads = x.dim(1);
    plan.length = x.dim(2);
    plan.size = x.dim(3);
  } else {
    TUTTI_TRY(require_equal(x.rank(), 3, "the rank of input"));
    plan.length = x.dim(1);
    plan.size = attrs.num_heads > 0 ? x.dim(2) / attrs.num_heads : plan.rotated;
    plan.heads = plan.size > 0 ? x.dim(2) / plan.size : 0;
    TUTTI_TRY(require_equal(plan.heads * plan.size, x.dim(2), "the heads times their size"));
  }
  if (attrs.rotary_embedding_dim > 0)
    TUTTI_TRY(require_equal(plan.rotated, attrs.rotary_embedding_dim, "twice the columns of cos_cache"));
  if (plan.rotated > plan.size)
    return make_error(Code::kInvalidInput, "cos_cache has {} columns, expected {} or fewer, half of the head size",
                      cosines.dim(1), plan.size / 2);
  return plan;
}

Result<int64_t> position_of(const EvalContext& context, const RotaryPlan& plan, int64_t b, int64_t s) {
  const Tensor& ids = context.input(1);
  const int64_t limit = context.input(2).dim(0);
  const bool offset = ids.size() == 1 && ids.rank() < 2;  // the position of the first row
  const int64_t position = ids.get_int(offset ? 0 : b * plan.length + s);
  if (position >= 0 && position < limit - (offset ? s : 0)) return position + (offset ? s : 0);
  return make_error(Code::kInvalidInput, "position_ids has the position {}, expected 0 to {}", position, limit - 1);
}

Status eval_contrib_rotary(EvalContext& context) {
  const RotaryPlan plan = TUTTI_TRY(plan_rotary(context));
  const Tensor &x = context.input(0), &ids = context.input(1);
  if (!(ids.size() == 1 && ids.rank() < 2)) TUTTI_TRY(require_dims(ids, {plan.batch, plan.length}, "position_ids"));
  const bool interleaved = context.attrs<ContribRotaryEmbeddingAttrs>().interleaved;
  const int64_t half = plan.rotated / 2;
  Tensor* y = TUTTI_TRY(context.output(0, x.dtype(), x.dims()));
  return with_compute_type(x.dtype(), [&]<class C>() -> Status {
    const ComputeView<C> view(x), cosines(context.input(2)), sines(context.input(3));
    ComputeBuffer<C> buffer(y);
    std::copy(view.data(), view.data() + view.size(), buffer.data());
    for (int64_t b = 0; b < plan.batch; ++b)
      for (int64_t s = 0; s < plan.length; ++s) {
        const int64_t angle = TUTTI_TRY(position_of(context, plan, b, s)) * half;
        for (int64_t h = 0; h < plan.heads; ++h) {
          const int64_t first =
              (plan.split ? (b * plan.length + s) * plan.heads + h : (b * plan.heads + h) * plan.length + s) *
              plan.size;
          for (int64_t i = 0; i < half; ++i) {
            const int64_t low = first + (interleaved ? 2 * i : i), high = first + (interleaved ? 2 * i + 1 : i + half);
            buffer.data()[low] = view[low] * cosines[angle + i] - view[high] * sines[angle + i];
            buffer.data()[high] = view[low] * sines[angle + i] + view[high] * cosines[angle + i];
          }
        }
      }
    buffer.store();
    return ok_status();
  });
}

}  // namespace

const OpDef kContribRotaryEmbedding{.name = "com.microsoft.RotaryEmbedding",
                                    .min_inputs = 4,
                                    .max_inputs = 4,
                                    .make_attrs = make_attrs<ContribRotaryEmbeddingAttrs>,
                                    .infer = infer_contrib_rotary,
                                    .eval = eval_contrib_rotary};

}  // namespace tutti::ops
