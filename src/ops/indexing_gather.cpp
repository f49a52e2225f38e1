// Gather, GatherElements, GatherND.
#include <algorithm>

#include "ops/broadcast.h"
#include "ops/elements.h"
#include "ops/index_check.h"
#include "ops/indexing.h"
#include "ops/infer_common.h"

namespace tutti::ops {
namespace {

using ir::Dim;
using ir::Dims;
using ir::DType;
using ir::EvalContext;
using ir::InferContext;
using ir::OpDef;
using ir::Shape;
using ir::Tensor;

Status expect_indices(const InferContext& ctx, int input) {
  return expect_dtype(ctx, input, {DType::kInt32, DType::kInt64});
}

// --- Gather

template <class D>
std::vector<D> gather_shape(const std::vector<D>& data, const std::vector<D>& indices, size_t axis) {
  std::vector<D> out(data.begin(), data.begin() + static_cast<int64_t>(axis));
  out.insert(out.end(), indices.begin(), indices.end());
  out.insert(out.end(), data.begin() + static_cast<int64_t>(axis) + 1, data.end());
  return out;
}

// Dimensions picked from a vector of dimensions.
Status propagate_gather(InferContext& ctx) {
  const auto data = ctx.dims_value(0);
  const auto indices = ctx.ints_value(1);
  if (!data || !indices || ctx.input(0).rank() != 1 || !ctx.shape(1) || ctx.input(1).rank() > 1) return ok_status();
  std::vector<Dim> out;
  for (int64_t index : *indices)
    out.push_back((*data)[static_cast<size_t>(TUTTI_TRY(checked_index(index, static_cast<int64_t>(data->size()))))]);
  ctx.set_dims_value(0, std::move(out));
  return ok_status();
}

Status infer_gather(InferContext& ctx) {
  TUTTI_TRY(expect_rank_at_least(ctx, 0, 1));
  TUTTI_TRY(expect_indices(ctx, 1));
  if (!ctx.shape(0) || !ctx.shape(1)) {
    ctx.set_output_unranked(0, ctx.dtype(0));
    return ok_status();
  }
  const auto axis = static_cast<size_t>(TUTTI_TRY(axis_of(ctx, 0, ctx.attrs<GatherAttrs>().axis)));
  ctx.set_output(0, ctx.dtype(0), gather_shape(*ctx.shape(0), *ctx.shape(1), axis));
  return propagate_gather(ctx);
}

Status eval_gather(EvalContext& ctx) {
  const Tensor &data = ctx.input(0), &indices = ctx.input(1);
  const auto axis = static_cast<size_t>(TUTTI_TRY(ir::normalize_axis(ctx.attrs<GatherAttrs>().axis, data.rank())));
  Tensor* out = TUTTI_TRY(ctx.output(0, data.dtype(), gather_shape(data.dims(), indices.dims(), axis)));
  const int64_t length = data.dims()[axis];
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < data.dims().size(); ++i)
    if (i != axis) (i < axis ? outer : inner) *= data.dims()[i];
  const auto positions = TUTTI_TRY(checked_indices(indices, length));
  int64_t to = 0;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t at : positions) {
      copy_run(*out, to, data, (o * length + at) * inner, 1, inner);
      to += inner;
    }
  return ok_status();
}

// --- GatherElements

Status infer_gather_elements(InferContext& ctx) {
  TUTTI_TRY(expect_rank_at_least(ctx, 0, 1));
  TUTTI_TRY(expect_indices(ctx, 1));
  if (ctx.shape(0)) {
    TUTTI_TRY(expect_rank(ctx, 1, ctx.input(0).rank()));
    TUTTI_TRY(axis_of(ctx, 0, ctx.attrs<GatherAttrs>().axis));
  }
  ctx.set_output(0, ir::ValueType::tensor(ctx.dtype(0), ctx.shape(1)));
  return ok_status();
}

Status eval_gather_elements(EvalContext& ctx) {
  const Tensor &data = ctx.input(0), &indices = ctx.input(1);
  const auto axis = static_cast<size_t>(TUTTI_TRY(ir::normalize_axis(ctx.attrs<GatherAttrs>().axis, data.rank())));
  TUTTI_TRY(check_index_dims(indices, data, axis));
  Tensor* out = TUTTI_TRY(ctx.output(0, data.dtype(), indices.dims()));
  if (out->size() == 0) return ok_status();
  const Dims strides = ir::row_major_strides(data.dims());
  Dims index(data.dims().size(), 0);
  int64_t to = 0;
  do {
    int64_t from = TUTTI_TRY(checked_index(indices.get_int(to), data.dims()[axis])) * strides[axis];
    for (size_t i = 0; i < index.size(); ++i)
      if (i != axis) from += index[i] * strides[i];
    copy_element(*out, to++, data, from);
  } while (next_index(index, indices.dims()));
  return ok_status();
}

// --- GatherND

template <class D>
std::vector<D> gather_nd_shape(const std::vector<D>& data, const std::vector<D>& indices, int64_t depth,
                               int64_t batch) {
  std::vector<D> out(indices.begin(), indices.end() - 1);
  out.insert(out.end(), data.begin() + batch + depth, data.end());
  return out;
}

Status check_depth(int64_t depth, int64_t batch, int64_t data_rank, int64_t index_rank) {
  if (batch < 0 || batch >= std::min(data_rank, index_rank))
    return make_error(Code::kInvalidModel, "batch_dims is {}; expected 0 or more and less than the ranks {} and {}",
                      batch, data_rank, index_rank);
  if (depth < 1 || depth > data_rank - batch)
    return make_error(Code::kInvalidModel, "the last dimension of indices is {}; expected 1 to {}", depth,
                      data_rank - batch);
  return ok_status();
}

Status infer_gather_nd(InferContext& ctx) {
  TUTTI_TRY(expect_rank_at_least(ctx, 0, 1));
  TUTTI_TRY(expect_rank_at_least(ctx, 1, 1));
  TUTTI_TRY(expect_dtype(ctx, 1, {DType::kInt64, DType::kInt32}));
  const bool known = ctx.shape(0) && ctx.shape(1) && ctx.shape(1)->back().is_constant();
  if (!known) {
    ctx.set_output_unranked(0, ctx.dtype(0));
    return ok_status();
  }
  const int64_t batch = ctx.attrs<GatherNDAttrs>().batch_dims, depth = *ctx.shape(1)->back().constant();
  TUTTI_TRY(check_depth(depth, batch, ctx.input(0).rank(), ctx.input(1).rank()));
  ctx.set_output(0, ctx.dtype(0), gather_nd_shape(*ctx.shape(0), *ctx.shape(1), depth, batch));
  return ok_status();
}

Status eval_gather_nd(EvalContext& ctx) {
  const Tensor &data = ctx.input(0), &indices = ctx.input(1);
  if (indices.rank() == 0)
    return make_error(Code::kInvalidInput, "indices is {}; expected rank 1 or more", indices.type_text());
  const int64_t batch = ctx.attrs<GatherNDAttrs>().batch_dims, depth = indices.dims().back();
  TUTTI_TRY(check_depth(depth, batch, data.rank(), indices.rank()));
  for (int64_t i = 0; i < batch; ++i)
    if (data.dim(i) != indices.dim(i))
      return make_error(Code::kInvalidInput, "batch dimensions of {} and {} differ", data.type_text(),
                        indices.type_text());
  Tensor* out = TUTTI_TRY(ctx.output(0, data.dtype(), gather_nd_shape(data.dims(), indices.dims(), depth, batch)));
  if (out->size() == 0) return ok_status();
  const Dims strides = ir::row_major_strides(data.dims());
  const auto first = static_cast<size_t>(batch);
  int64_t batches = 1, slice = 1;
  for (size_t i = 0; i < first; ++i) batches *= data.dims()[i];
  for (size_t i = first + static_cast<size_t>(depth); i < data.dims().size(); ++i) slice *= data.dims()[i];
  const int64_t tuples = indices.size() / depth, per_batch = tuples / batches, batch_size = data.size() / batches;
  for (int64_t t = 0; t < tuples; ++t) {
    int64_t from = t / per_batch * batch_size;
    for (int64_t k = 0; k < depth; ++k) {
      const size_t axis = first + static_cast<size_t>(k);
      from += TUTTI_TRY(checked_index(indices.get_int(t * depth + k), data.dims()[axis])) * strides[axis];
    }
    copy_run(*out, t * slice, data, from, 1, slice);
  }
  return ok_status();
}

}  // namespace

const OpDef kGather{.name = "Gather",
                    .min_inputs = 2,
                    .max_inputs = 2,
                    .make_attrs = ir::make_attrs<GatherAttrs>,
                    .infer = infer_gather,
                    .eval = eval_gather,
                    .tolerance = ir::Tolerance::kExact};
const OpDef kGatherElements{.name = "GatherElements",
                            .min_inputs = 2,
                            .max_inputs = 2,
                            .make_attrs = ir::make_attrs<GatherAttrs>,
                            .infer = infer_gather_elements,
                            .eval = eval_gather_elements,
                            .tolerance = ir::Tolerance::kExact};
const OpDef kGatherND{.name = "GatherND",
                      .min_inputs = 2,
                      .max_inputs = 2,
                      .make_attrs = ir::make_attrs<GatherNDAttrs>,
                      .infer = infer_gather_nd,
                      .eval = eval_gather_nd,
                      .tolerance = ir::Tolerance::kExact};

}  // namespace tutti::ops
