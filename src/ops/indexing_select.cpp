// Operators that choose elements by masks, lengths and diagonals.
#include <algorithm>

#include "ops/elements.h"
#include "ops/index_check.h"
#include "ops/indexing.h"
#include "ops/infer_common.h"
#include "ops/view_copy.h"

namespace tutti::ops {
namespace {

using ir::Dims;
using ir::DType;
using ir::EvalContext;
using ir::InferContext;
using ir::OpDef;
using ir::Shape;
using ir::Tensor;

Status infer_compress(InferContext& ctx) {
  TUTTI_TRY(expect_tensor(ctx, 0));
  TUTTI_TRY(expect_dtype(ctx, 1, {DType::kBool}));
  TUTTI_TRY(expect_rank(ctx, 1, 1));
  const auto axis = ctx.attrs<CompressAttrs>().axis;
  if (!axis)
    ctx.set_output(0, ctx.dtype(0), {ctx.fresh_dim("selected")});
  else if (!ctx.shape(0))
    ctx.set_output_unranked(0, ctx.dtype(0));
  else {
    Shape out = *ctx.shape(0);
    out[static_cast<size_t>(TUTTI_TRY(axis_of(ctx, 0, *axis)))] = ctx.fresh_dim("selected");
    ctx.set_output(0, ctx.dtype(0), std::move(out));
  }
  return ok_status();
}

Status eval_compress(EvalContext& ctx) {
  const auto axis_attr = ctx.attrs<CompressAttrs>().axis;
  const Tensor in = axis_attr ? ctx.input(0) : ctx.input(0).reshaped({ctx.input(0).size()});
  const auto axis = static_cast<size_t>(TUTTI_TRY(ir::normalize_axis(axis_attr.value_or(0), in.rank())));
  if (ctx.input(1).size() > in.dims()[axis])
    return make_error(Code::kInvalidInput, "condition has {} elements; expected at most {}", ctx.input(1).size(),
                      in.dims()[axis]);
  std::vector<std::vector<int64_t>> maps;
  for (size_t i = 0; i < in.dims().size(); ++i) {
    maps.emplace_back();
    const int64_t count = i == axis ? ctx.input(1).size() : in.dims()[i];
    for (int64_t k = 0; k < count; ++k)
      if (i != axis || ctx.input(1).get_int(k) != 0) maps.back().push_back(k);
  }
  Dims dims = in.dims();
  dims[axis] = static_cast<int64_t>(maps[axis].size());
  mapped_copy(*TUTTI_TRY(ctx.output(0, in.dtype(), dims)), in, maps, zero_scalar(in.dtype()));
  return ok_status();
}

Status infer_non_zero(InferContext& ctx) {
  TUTTI_TRY(expect_tensor(ctx, 0));
  const ir::Dim rank = ctx.shape(0) ? ir::Dim(ctx.input(0).rank()) : ctx.fresh_dim("rank");
  ctx.set_output(0, DType::kInt64, {rank, ctx.fresh_dim("nonzero")});
  return ok_status();
}

bool is_set(const Tensor& t, int64_t i) {
  if (t.dtype() == DType::kString) return !t.string_data()[static_cast<size_t>(i)].empty();
  return ir::is_floating(t.dtype()) ? t.get_double(i) != 0 : t.get_int(i) != 0;
}

// Positions of what is not zero.
std::vector<int64_t> set_elements(const Tensor& t) {
  std::vector<int64_t> found;
  if (t.dtype() == DType::kBool || t.dtype() == DType::kUInt8) {  // masks: the usual case, and often long
    const auto bytes = t.data<uint8_t>();
    for (size_t i = 0; i < bytes.size(); ++i)
      if (bytes[i] != 0) found.push_back(static_cast<int64_t>(i));
    return found;
  }
  for (int64_t i = 0; i < t.size(); ++i)
    if (is_set(t, i)) found.push_back(i);
  return found;
}

Status eval_non_zero(EvalContext& ctx) {
  const Tensor& in = ctx.input(0);
  if (ir::is_complex(in.dtype()))
    return make_error(Code::kUnsupported, "input is {}; expected a real number", in.type_text());
  const std::vector<int64_t> found = set_elements(in);
  const auto count = static_cast<int64_t>(found.size());
  Tensor* out = TUTTI_TRY(ctx.output(0, DType::kInt64, {in.rank(), count}));
  const Dims strides = ir::row_major_strides(in.dims());
  int64_t* to = out->mutable_data<int64_t>().data();
  for (size_t axis = 0; axis < in.dims().size(); ++axis)
    for (int64_t at : found) *to++ = at / strides[axis] % in.dims()[axis];
  return ok_status();
}

Status infer_reverse_sequence(InferContext& ctx) {
  TUTTI_TRY(expect_rank_at_least(ctx, 0, 2));
  TUTTI_TRY(expect_dtype(ctx, 1, {DType::kInt64}));
  TUTTI_TRY(expect_rank(ctx, 1, 1));
  const auto& attrs = ctx.attrs<ReverseSequenceAttrs>();
  if (attrs.batch_axis < 0 || attrs.batch_axis > 1 || attrs.time_axis != 1 - attrs.batch_axis)
    return make_error(Code::kInvalidModel, "batch_axis is {} and time_axis {}; expected 0 and 1 or 1 and 0",
                      attrs.batch_axis, attrs.time_axis);
  return infer_like_first(ctx);
}

Status eval_reverse_sequence(EvalContext& ctx) {
  const Tensor &in = ctx.input(0), &lengths = ctx.input(1);
  const auto& attrs = ctx.attrs<ReverseSequenceAttrs>();
  if (in.rank() < 2) return make_error(Code::kInvalidInput, "input is {}; expected rank 2 or more", in.type_text());
  const int64_t batches = in.dim(attrs.batch_axis), steps = in.dim(attrs.time_axis);
  if (lengths.size() != batches)
    return make_error(Code::kInvalidInput, "sequence_lens has {} elements; expected {}", lengths.size(), batches);
  Tensor* out = TUTTI_TRY(ctx.output(0, in.dtype(), in.dims()));
  const int64_t inner = ir::element_count(Dims(in.dims().begin() + 2, in.dims().end()));
  const int64_t batch_stride = attrs.batch_axis == 0 ? steps * inner : inner,
                time_stride = attrs.time_axis == 0 ? batches * inner : inner;
  for (int64_t b = 0; b < batches; ++b) {
    const int64_t length = lengths.get_int(b);
    if (length < 0 || length > steps)
      return make_error(Code::kInvalidInput, "sequence length {} is out of bounds; expected 0 to {}", length, steps);
    for (int64_t t = 0; t < steps; ++t)
      copy_run(*out, b * batch_stride + t * time_stride, in,
               b * batch_stride + (t < length ? length - 1 - t : t) * time_stride, 1, inner);
  }
  return ok_status();
}

Status infer_trilu(InferContext& ctx) {
  TUTTI_TRY(expect_rank_at_least(ctx, 0, 2));
  TUTTI_TRY(expect_dtype(ctx, 1, {DType::kInt64}));
  return infer_like_first(ctx);
}

Status eval_trilu(EvalContext& ctx) {
  const Tensor& in = ctx.input(0);
  if (in.rank() < 2) return make_error(Code::kInvalidInput, "input is {}; expected rank 2 or more", in.type_text());
  Tensor* out = TUTTI_TRY(ctx.output(0, in.dtype(), in.dims()));
  if (in.size() == 0) return ok_status();
  const bool upper = ctx.attrs<TriluAttrs>().upper;
  const int64_t rows = in.dim(in.rank() - 2), columns = in.dim(in.rank() - 1);
  const int64_t k =
      ctx.has_input(1) && ctx.input(1).size() == 1 ? std::clamp(ctx.input(1).get_int(0), -rows - 1, columns + 1) : 0;
  const Tensor zero = zero_scalar(in.dtype());
  for (int64_t row = 0; row < in.size() / columns; ++row) {
    // The first column on or right of the diagonal (upper), or right of it (lower).
    const int64_t split = std::clamp(row % rows + k + (upper ? 0 : 1), int64_t{0}, columns), base = row * columns;
    if (upper)
      fill_run(*out, base, split, zero), copy_run(*out, base + split, in, base + split, 1, columns - split);
    else
      copy_run(*out, base, in, base, 1, split), fill_run(*out, base + split, columns - split, zero);
  }
  return ok_status();
}

}  // namespace

const OpDef kCompress{.name = "Compress",
                      .min_inputs = 2,
                      .max_inputs = 2,
                      .make_attrs = ir::make_attrs<CompressAttrs>,
                      .infer = infer_compress,
                      .eval = eval_compress,
                      .tolerance = ir::Tolerance::kExact};
const OpDef kNonZero{.name = "NonZero",
                     .min_inputs = 1,
                     .max_inputs = 1,
                     .infer = infer_non_zero,
                     .eval = eval_non_zero,
                     .tolerance = ir::Tolerance::kExact};
const OpDef kReverseSequence{.name = "ReverseSequence",
                             .min_inputs = 2,
                             .max_inputs = 2,
                             .make_attrs = ir::make_attrs<ReverseSequenceAttrs>,
                             .infer = infer_reverse_sequence,
                             .eval = eval_reverse_sequence,
                             .tolerance = ir::Tolerance::kExact};
const OpDef kTrilu{.name = "Trilu",
                   .min_inputs = 1,
                   .max_inputs = 2,
                   .make_attrs = ir::make_attrs<TriluAttrs>,
                   .infer = infer_trilu,
                   .eval = eval_trilu,
                   .tolerance = ir::Tolerance::kExact};

}  // namespace tutti::ops
