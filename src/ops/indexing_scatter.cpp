// ScatterElements, ScatterND, TensorScatter.
#include <algorithm>
#include <cmath>

#include "ops/broadcast.h"
#include "ops/dispatch.h"
#include "ops/elements.h"
#include "ops/index_check.h"
#include "ops/indexing.h"
#include "ops/infer_common.h"

namespace tutti::ops {
namespace {

using ir::Dims;
using ir::DType;
using ir::EvalContext;
using ir::InferContext;
using ir::OpDef;
using ir::Tensor;

template <class C>
C reduce_pair(C old_value, C update, ScatterReduction how) {
  if constexpr (std::is_same_v<C, double>)
    if (how >= ScatterReduction::kMin && (std::isnan(old_value) || std::isnan(update))) return std::nan("");
  const auto wrap = [](C x) { return static_cast<std::conditional_t<std::is_same_v<C, double>, double, uint64_t>>(x); };
  switch (how) {
    case ScatterReduction::kNone: return update;
    case ScatterReduction::kAdd: return static_cast<C>(wrap(old_value) + wrap(update));
    case ScatterReduction::kMul: return static_cast<C>(wrap(old_value) * wrap(update));
    case ScatterReduction::kMin: return std::min(old_value, update);
    case ScatterReduction::kMax: return std::max(old_value, update);
  }
  return update;
}

// out[to + k] = out[to + k] (how) updates[from + k] for k < count.
Status combine_run(Tensor& out, int64_t to, const Tensor& updates, int64_t from, int64_t count, ScatterReduction how) {
  if (how == ScatterReduction::kNone) {
    copy_run(out, to, updates, from, 1, count);
    return ok_status();
  }
  return dispatch_wide(out.dtype(), [&]<class C>() {
    for (int64_t k = 0; k < count; ++k) {
      C old_value, update;
      load_block(out, to + k, 1, 1, &old_value);
      load_block(updates, from + k, 1, 1, &update);
      const C result = reduce_pair(old_value, update, how);
      store_block(out, to + k, 1, &result);
    }
  });
}

Status expect_reducible(const InferContext& ctx, ScatterReduction how) {
  if (how == ScatterReduction::kNone) return ok_status();
  return expect_kind(
      ctx, 0, [](DType d) { return is_arithmetic(d) || d == DType::kBool; }, "a number, for a reduction");
}

Result<Tensor*> copy_of_data(EvalContext& ctx) {
  ctx.set_output(0, ctx.input(0).clone());
  if (ctx.outputs().empty()) return make_error(Code::kInternal, "no output is wanted");
  return &ctx.outputs()[0].tensor();
}

// --- ScatterElements

Status infer_scatter(InferContext& ctx, int64_t axis, ScatterReduction how) {
  TUTTI_TRY(expect_rank_at_least(ctx, 0, 1));
  TUTTI_TRY(expect_dtype(ctx, 1, {DType::kInt32, DType::kInt64}));
  TUTTI_TRY(expect_same_dtype(ctx, 0, 2));
  TUTTI_TRY(expect_reducible(ctx, how));
  if (ctx.shape(0)) {
    TUTTI_TRY(axis_of(ctx, 0, axis));
    TUTTI_TRY(expect_rank(ctx, 1, ctx.input(0).rank()));
    TUTTI_TRY(expect_rank(ctx, 2, ctx.input(0).rank()));
  }
  return infer_like_first(ctx);
}

Status infer_scatter_elements(InferContext& ctx) {
  const auto& attrs = ctx.attrs<ScatterElementsAttrs>();
  return infer_scatter(ctx, attrs.axis, attrs.reduction);
}

Status infer_old_scatter(InferContext& ctx) {
  return infer_scatter(ctx, ctx.attrs<GatherAttrs>().axis, ScatterReduction::kNone);
}

Status scatter_elements(EvalContext& ctx, int64_t axis_attr, ScatterReduction how) {
  const Tensor &data = ctx.input(0), &indices = ctx.input(1), &updates = ctx.input(2);
  const auto axis = static_cast<size_t>(TUTTI_TRY(ir::normalize_axis(axis_attr, data.rank())));
  TUTTI_TRY(check_index_dims(indices, data, axis));
  if (updates.dims() != indices.dims())
    return make_error(Code::kInvalidInput, "updates is {}; expected the dims of indices {}", updates.type_text(),
                      indices.type_text());
  Tensor* out = TUTTI_TRY(copy_of_data(ctx));
  if (indices.size() == 0) return ok_status();
  const Dims strides = ir::row_major_strides(data.dims());
  Dims index(data.dims().size(), 0);
  int64_t from = 0;
  do {
    int64_t to = TUTTI_TRY(checked_index(indices.get_int(from), data.dims()[axis])) * strides[axis];
    for (size_t i = 0; i < index.size(); ++i)
      if (i != axis) to += index[i] * strides[i];
    TUTTI_TRY(combine_run(*out, to, updates, from++, 1, how));
  } while (next_index(index, indices.dims()));
  return ok_status();
}

Status eval_scatter_elements(EvalContext& ctx) {
  return scatter_elements(ctx, ctx.attrs<ScatterElementsAttrs>().axis, ctx.attrs<ScatterElementsAttrs>().reduction);
}

Status eval_old_scatter(EvalContext& ctx) {
  return scatter_elements(ctx, ctx.attrs<GatherAttrs>().axis, ScatterReduction::kNone);
}

// --- ScatterND

Status infer_scatter_nd(InferContext& ctx) {
  TUTTI_TRY(expect_rank_at_least(ctx, 0, 1));
  TUTTI_TRY(expect_rank_at_least(ctx, 1, 1));
  TUTTI_TRY(expect_dtype(ctx, 1, {DType::kInt64, DType::kInt32}));
  TUTTI_TRY(expect_same_dtype(ctx, 0, 2));
  TUTTI_TRY(expect_reducible(ctx, ctx.attrs<ScatterNDAttrs>().reduction));
  if (ctx.shape(0) && ctx.shape(1)) {
    const auto depth = ctx.shape(1)->back().constant();
    if (depth && (*depth < 0 || *depth > ctx.input(0).rank()))
      return make_error(Code::kInvalidModel, "the last dimension of indices is {}; expected at most data's rank {}",
                        *depth, ctx.input(0).rank());
    if (depth) TUTTI_TRY(expect_rank(ctx, 2, ctx.input(1).rank() - 1 + ctx.input(0).rank() - *depth));
  }
  return infer_like_first(ctx);
}

Status eval_scatter_nd(EvalContext& ctx) {
  const Tensor &data = ctx.input(0), &indices = ctx.input(1), &updates = ctx.input(2);
  const int64_t depth = indices.rank() > 0 ? indices.dims().back() : -1;
  if (depth < 0 || depth > data.rank())
    return make_error(Code::kInvalidInput, "indices is {}; expected a last dimension of at most {}",
                      indices.type_text(), data.rank());
  Dims expected(indices.dims().begin(), indices.dims().end() - 1);
  expected.insert(expected.end(), data.dims().begin() + depth, data.dims().end());
  if (updates.dims() != expected)
    return make_error(Code::kInvalidInput, "updates is {}; expected dims {}", updates.type_text(),
                      ir::dims_text(expected));
  Tensor* out = TUTTI_TRY(copy_of_data(ctx));
  if (updates.size() == 0) return ok_status();
  const Dims strides = ir::row_major_strides(data.dims());
  const int64_t slice = ir::element_count(Dims(data.dims().begin() + depth, data.dims().end())),
                tuples = updates.size() / slice;
  for (int64_t t = 0; t < tuples; ++t) {
    int64_t to = 0;
    for (int64_t k = 0; k < depth; ++k)
      to += TUTTI_TRY(checked_index(indices.get_int(t * depth + k), data.dim(k))) * strides[static_cast<size_t>(k)];
    TUTTI_TRY(combine_run(*out, to, updates, t * slice, slice, ctx.attrs<ScatterNDAttrs>().reduction));
  }
  return ok_status();
}

// --- TensorScatter

Status infer_tensor_scatter(InferContext& ctx) {
  TUTTI_TRY(expect_rank_at_least(ctx, 0, 2));
  TUTTI_TRY(expect_same_dtype(ctx, 0, 1));
  TUTTI_TRY(expect_dtype(ctx, 2, {DType::kInt64}));
  TUTTI_TRY(expect_rank(ctx, 2, 1));
  if (ctx.shape(0)) {
    TUTTI_TRY(expect_rank(ctx, 1, ctx.input(0).rank()));
    if (TUTTI_TRY(axis_of(ctx, 0, ctx.attrs<TensorScatterAttrs>().axis)) == 0)
      return make_error(Code::kInvalidModel, "axis is the batch dimension; expected a later one");
  }
  return infer_like_first(ctx);
}

Status eval_tensor_scatter(EvalContext& ctx) {
  const Tensor &cache = ctx.input(0), &update = ctx.input(1);
  const auto& attrs = ctx.attrs<TensorScatterAttrs>();
  const auto axis = static_cast<size_t>(TUTTI_TRY(ir::normalize_axis(attrs.axis, cache.rank())));
  if (axis == 0)
    return make_error(Code::kInvalidInput, "axis is the batch dimension of {}; expected a later one",
                      cache.type_text());
  TUTTI_TRY(check_index_dims(update, cache, axis));
  const int64_t capacity = cache.dims()[axis], length = update.dims()[axis], batches = cache.dims()[0];
  if (length > capacity)
    return make_error(Code::kInvalidInput, "update {} is longer than the cache {}", update.type_text(),
                      cache.type_text());
  if (ctx.has_input(2) && ctx.input(2).size() != batches)
    return make_error(Code::kInvalidInput, "write_indices has {} elements; expected {}", ctx.input(2).size(), batches);
  Tensor* out = TUTTI_TRY(copy_of_data(ctx));
  if (update.size() == 0) return ok_status();
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < cache.dims().size(); ++i)
    if (i != axis) (i < axis ? outer : inner) *= cache.dims()[i];
  if (update.size() != outer * length * inner)
    return make_error(Code::kInvalidInput, "update {} does not fit the cache {}", update.type_text(),
                      cache.type_text());
  for (int64_t o = 0; o < outer; ++o) {
    const int64_t start = ctx.has_input(2) ? ctx.input(2).get_int(o / (outer / batches)) : 0;
    for (int64_t s = 0; s < length; ++s) {
      int64_t at = start + s;
      if (attrs.mode == CacheMode::kCircular) at = ((at % capacity) + capacity) % capacity;
      if (at < 0 || at >= capacity)
        return make_error(Code::kInvalidInput, "write index {} is outside the cache of {}", at, capacity);
      copy_run(*out, (o * capacity + at) * inner, update, (o * length + s) * inner, 1, inner);
    }
  }
  return ok_status();
}

}  // namespace

const OpDef kScatter{.name = "Scatter",
                     .min_inputs = 3,
                     .max_inputs = 3,
                     .make_attrs = ir::make_attrs<GatherAttrs>,
                     .infer = infer_old_scatter,
                     .eval = eval_old_scatter,
                     .tolerance = ir::Tolerance::kExact};
const OpDef kScatterElements{.name = "ScatterElements",
                             .min_inputs = 3,
                             .max_inputs = 3,
                             .make_attrs = ir::make_attrs<ScatterElementsAttrs>,
                             .infer = infer_scatter_elements,
                             .eval = eval_scatter_elements,
                             .tolerance = ir::Tolerance::kRounding};
const OpDef kScatterND{.name = "ScatterND",
                       .min_inputs = 3,
                       .max_inputs = 3,
                       .make_attrs = ir::make_attrs<ScatterNDAttrs>,
                       .infer = infer_scatter_nd,
                       .eval = eval_scatter_nd,
                       .tolerance = ir::Tolerance::kRounding};
const OpDef kTensorScatter{.name = "TensorScatter",
                           .min_inputs = 2,
                           .max_inputs = 3,
                           .make_attrs = ir::make_attrs<TensorScatterAttrs>,
                           .infer = infer_tensor_scatter,
                           .eval = eval_tensor_scatter,
                           .tolerance = ir::Tolerance::kExact};

}  // namespace tutti::ops
