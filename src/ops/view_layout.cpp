// Operators that repeat, reorder or pad.
#include <algorithm>

#include "ops/broadcast.h"
#include "ops/infer_common.h"
#include "ops/view.h"
#include "ops/view_copy.h"

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

// --- Expand, Tile

Status infer_expand(InferContext& ctx) {
  TUTTI_TRY(expect_tensor(ctx, 0));
  TUTTI_TRY(expect_dtype(ctx, 1, {DType::kInt64}));
  TUTTI_TRY(expect_rank(ctx, 1, 1));
  const auto target = ctx.dims_value(1);
  if (!target || !ctx.shape(0)) {
    const auto length = vector_length(ctx, 1);
    if (length && ctx.shape(0) && *length <= 64)
      ctx.set_output(0, ctx.dtype(0), fresh_shape(ctx, std::max(*length, ctx.input(0).rank()), "expand"));
    else
      ctx.set_output_unranked(0, ctx.dtype(0));
    return ok_status();
  }
  for (const Dim& d : *target)
    if (d.is_constant() && *d.constant() < 0)
      return make_error(Code::kInvalidModel, "shape {} has the dimension {}; expected 0 or more",
                        ir::shape_text(*target), d.text());
  Shape out = TUTTI_TRY(ir::broadcast(*ctx.shape(0), *target));
  const auto value = ctx.dims_value(0);
  const bool fills =
      value && value->size() == 1 && out.size() == 1 && out[0].is_constant() && *out[0].constant() <= 1024;
  const auto count = fills ? static_cast<size_t>(*out[0].constant()) : 0;
  ctx.set_output(0, ctx.dtype(0), std::move(out));
  if (fills) ctx.set_dims_value(0, std::vector<Dim>(count, (*value)[0]));
  return ok_status();
}

Status eval_expand(EvalContext& ctx) {
  const Dims dims = TUTTI_TRY(ir::broadcast(ctx.input(0).dims(), ctx.input(1).to_int64()));
  Tensor* out = TUTTI_TRY(ctx.output(0, ctx.input(0).dtype(), dims));
  strided_copy(*out, ctx.input(0), 0, broadcast_strides(ctx.input(0).dims(), dims));
  return ok_status();
}

Status check_repeats(size_t count, int64_t rank) {
  if (static_cast<int64_t>(count) == rank) return ok_status();
  return make_error(Code::kInvalidModel, "repeats has {} elements; expected one for each of the input's {} dimensions",
                    count, rank);
}

Status infer_tile(InferContext& ctx) {
  TUTTI_TRY(expect_tensor(ctx, 0));
  TUTTI_TRY(expect_dtype(ctx, 1, {DType::kInt64}));
  const auto repeats = ctx.dims_value(1);
  if (!ctx.shape(0)) {
    ctx.set_output_unranked(0, ctx.dtype(0));
    return ok_status();
  }
  if (!repeats) {
    ctx.set_output(0, ctx.dtype(0), fresh_shape(ctx, ctx.input(0).rank(), "tile"));
    return ok_status();
  }
  TUTTI_TRY(check_repeats(repeats->size(), ctx.input(0).rank()));
  Shape out = *ctx.shape(0);
  for (size_t i = 0; i < out.size(); ++i) {
    if ((*repeats)[i].is_constant() && *(*repeats)[i].constant() < 0)
      return make_error(Code::kInvalidModel, "repeats contains {}; expected 0 or more", (*repeats)[i].text());
    out[i] = out[i] * (*repeats)[i];
  }
  ctx.set_output(0, ctx.dtype(0), std::move(out));
  return ok_status();
}

Status eval_tile(EvalContext& ctx) {
  const auto repeats = ctx.input(1).to_int64();
  TUTTI_TRY(check_repeats(repeats.size(), ctx.input(0).rank()));
  Dims dims = ctx.input(0).dims();
  for (size_t i = 0; i < dims.size(); ++i) {
    TUTTI_TRY(ir::checked_element_count({repeats[i], dims[i]}));
    dims[i] *= repeats[i];
  }
  Tensor* out = TUTTI_TRY(ctx.output(0, ctx.input(0).dtype(), dims));
  std::vector<std::vector<int64_t>> maps;
  for (size_t i = 0; i < dims.size() && out->size() > 0; ++i) {
    maps.emplace_back();
    for (int64_t k = 0; k < dims[i]; ++k) maps.back().push_back(k % ctx.input(0).dims()[i]);
  }
  mapped_copy(*out, ctx.input(0), maps, zero_scalar(out->dtype()));
  return ok_status();
}

// --- Transpose

Result<std::vector<int64_t>> permutation(const TransposeAttrs& attrs, int64_t rank) {
  std::vector<int64_t> perm = attrs.perm;
  if (perm.empty())
    for (int64_t i = rank; i-- > 0;) perm.push_back(i);
  if (static_cast<int64_t>(perm.size()) != rank)
    return make_error(Code::kInvalidModel, "perm has {} elements; expected one for each of the input's {} dimensions",
                      perm.size(), rank);
  // ONNX does not count from the end here, and passes read the attribute as it is.
  for (const int64_t axis : perm)
    if (axis < 0 || axis >= rank)
      return make_error(Code::kInvalidModel, "perm has the axis {}; expected 0 to {}", axis, rank - 1);
  return ir::normalize_axes(perm, rank);
}

Status infer_transpose(InferContext& ctx) {
  TUTTI_TRY(expect_tensor(ctx, 0));
  if (!ctx.shape(0)) {
    const auto rank = static_cast<int64_t>(ctx.attrs<TransposeAttrs>().perm.size());
    if (rank > 0)
      ctx.set_output(0, ctx.dtype(0), fresh_shape(ctx, rank, "transpose"));
    else
      ctx.set_output_unranked(0, ctx.dtype(0));
    return ok_status();
  }
  Shape out;
  for (int64_t axis : TUTTI_TRY(permutation(ctx.attrs<TransposeAttrs>(), ctx.input(0).rank())))
    out.push_back((*ctx.shape(0))[static_cast<size_t>(axis)]);
  const bool vector = out.size() <= 1;
  ctx.set_output(0, ctx.dtype(0), std::move(out));
  if (auto value = ctx.dims_value(0); value && vector) ctx.set_dims_value(0, *std::move(value));
  return ok_status();
}

Status eval_transpose(EvalContext& ctx) {
  const Tensor& in = ctx.input(0);
  const Dims own = ir::row_major_strides(in.dims());
  Dims dims, strides;
  for (int64_t axis : TUTTI_TRY(permutation(ctx.attrs<TransposeAttrs>(), in.rank()))) {
    dims.push_back(in.dim(axis));
    strides.push_back(own[static_cast<size_t>(axis)]);
  }
  strided_copy(*TUTTI_TRY(ctx.output(0, in.dtype(), dims)), in, 0, strides);
  return ok_status();
}

// --- Pad, CenterCropPad

Result<std::vector<int64_t>> pad_axes(const std::optional<std::vector<int64_t>>& axes, int64_t rank, size_t pads) {
  std::vector<int64_t> all;
  for (int64_t i = 0; i < rank; ++i) all.push_back(i);
  if (axes) all = TUTTI_TRY(ir::normalize_axes(*axes, rank));
  if (pads != 2 * all.size())
    return make_error(Code::kInvalidModel, "pads has {} elements; expected two for each of {} axes", pads, all.size());
  return all;
}

Status infer_pad(InferContext& ctx) {
  TUTTI_TRY(expect_tensor(ctx, 0));
  TUTTI_TRY(expect_dtype(ctx, 1, {DType::kInt64}));
  TUTTI_TRY(expect_same_dtype(ctx, 0, 2));
  TUTTI_TRY(expect_dtype(ctx, 3, {DType::kInt32, DType::kInt64}));
  const auto pads = ctx.dims_value(1);
  const auto axes = ctx.ints_value(3);
  if (!ctx.shape(0)) {
    ctx.set_output_unranked(0, ctx.dtype(0));
    return ok_status();
  }
  if (!pads || (ctx.has_input(3) && !axes)) {
    ctx.set_output(0, ctx.dtype(0), fresh_shape(ctx, ctx.input(0).rank(), "pad"));
    return ok_status();
  }
  Shape out = *ctx.shape(0);
  const auto at = TUTTI_TRY(pad_axes(axes, ctx.input(0).rank(), pads->size()));
  for (size_t i = 0; i < at.size(); ++i) {
    Dim& dim = out[static_cast<size_t>(at[i])];
    const Dim padded = dim + (*pads)[i] + (*pads)[i + at.size()];
    if (padded.is_constant() && *padded.constant() < 0)
      return make_error(Code::kInvalidModel, "pads {} and {} remove more than the {} of axis {}", (*pads)[i].text(),
                        (*pads)[i + at.size()].text(), dim.text(), at[i]);
    dim = padded;
  }
  ctx.set_output(0, ctx.dtype(0), std::move(out));
  return ok_status();
}

}  // namespace

int64_t pad_source(int64_t i, int64_t dim, PadMode mode) {
  if (i >= 0 && i < dim) return i;
  switch (mode) {
    case PadMode::kConstant: return -1;
    case PadMode::kEdge: return std::clamp(i, int64_t{0}, dim - 1);
    case PadMode::kWrap: return ((i % dim) + dim) % dim;
    case PadMode::kReflect: {
      if (dim == 1) return 0;
      const int64_t period = 2 * (dim - 1), phase = ((i % period) + period) % period;
      return phase < dim ? phase : period - phase;
    }
  }
  return -1;
}

namespace {

Status eval_pad(EvalContext& ctx) {
  const Tensor& in = ctx.input(0);
  const auto pads = ctx.input(1).to_int64();
  std::optional<std::vector<int64_t>> given;
  if (ctx.has_input(3)) given = ctx.input(3).to_int64();
  const auto axes = TUTTI_TRY(pad_axes(given, in.rank(), pads.size()));
  Dims dims = in.dims(), before(dims.size(), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i]);
    before[axis] = pads[i];
    constexpr int64_t kLimit = int64_t{1} << 48;
    if (std::max(pads[i], pads[i + axes.size()]) > kLimit || std::min(pads[i], pads[i + axes.size()]) < -kLimit)
      return make_error(Code::kLimit, "pads {} are too large", ir::dims_text(pads));
    dims[axis] += pads[i] + pads[i + axes.size()];
  }
  Tensor* out = TUTTI_TRY(ctx.output(0, in.dtype(), dims));
  const PadMode mode = ctx.attrs<PadAttrs>().mode;
  if (mode != PadMode::kConstant && in.size() == 0 && out->size() > 0)
    return make_error(Code::kInvalidInput, "an empty tensor {} has nothing to pad with", in.type_text());
  std::vector<std::vector<int64_t>> maps;
  for (size_t axis = 0; axis < dims.size() && out->size() > 0; ++axis) {
    maps.emplace_back();
    for (int64_t i = 0; i < dims[axis]; ++i) maps.back().push_back(pad_source(i - before[axis], in.dims()[axis], mode));
  }
  const bool has_value = ctx.has_input(2) && ctx.input(2).size() > 0;
  mapped_copy(*out, in, maps, has_value ? ctx.input(2) : zero_scalar(in.dtype()));
  return ok_status();
}

Result<std::vector<int64_t>> crop_axes(const CenterCropPadAttrs& attrs, int64_t rank, size_t count) {
  std::vector<int64_t> axes = attrs.axes;
  for (int64_t i = 0; attrs.axes.empty() && i < rank; ++i) axes.push_back(i);
  axes = TUTTI_TRY(ir::normalize_axes(axes, rank));
  if (axes.size() != count)
    return make_error(Code::kInvalidModel, "shape has {} elements; expected one for each of {} axes", count,
                      axes.size());
  return axes;
}

Status infer_center_crop_pad(InferContext& ctx) {
  TUTTI_TRY(expect_tensor(ctx, 0));
  TUTTI_TRY(expect_dtype(ctx, 1, {DType::kInt32, DType::kInt64}));
  const auto target = ctx.dims_value(1);
  if (!ctx.shape(0))
    ctx.set_output_unranked(0, ctx.dtype(0));
  else if (!target)
    ctx.set_output(0, ctx.dtype(0), fresh_shape(ctx, ctx.input(0).rank(), "crop"));
  else {
    Shape out = *ctx.shape(0);
    const auto axes = TUTTI_TRY(crop_axes(ctx.attrs<CenterCropPadAttrs>(), ctx.input(0).rank(), target->size()));
    for (size_t i = 0; i < axes.size(); ++i) out[static_cast<size_t>(axes[i])] = (*target)[i];
    ctx.set_output(0, ctx.dtype(0), std::move(out));
  }
  return ok_status();
}

Status eval_center_crop_pad(EvalContext& ctx) {
  const Tensor& in = ctx.input(0);
  const auto target = ctx.input(1).to_int64();
  const auto axes = TUTTI_TRY(crop_axes(ctx.attrs<CenterCropPadAttrs>(), in.rank(), target.size()));
  Dims dims = in.dims();
  for (size_t i = 0; i < axes.size(); ++i) dims[static_cast<size_t>(axes[i])] = target[i];
  Tensor* out = TUTTI_TRY(ctx.output(0, in.dtype(), dims));
  std::vector<std::vector<int64_t>> maps;
  for (size_t axis = 0; axis < dims.size() && out->size() > 0; ++axis) {
    const int64_t from = in.dims()[axis], to = dims[axis];
    const int64_t shift = from >= to ? (from - to) / 2 : -((to - from) / 2);
    maps.emplace_back();
    for (int64_t i = 0; i < to; ++i) maps.back().push_back(pad_source(i + shift, from, PadMode::kConstant));
  }
  mapped_copy(*out, in, maps, zero_scalar(in.dtype()));
  return ok_status();
}

// --- DepthToSpace, SpaceToDepth

Status check_block(int64_t block) {
  if (block >= 1 && block < (1 << 20)) return ok_status();
  return make_error(Code::kInvalidModel, "blocksize is {}; expected 1 or more", block);
}

Status check_divisible(const Dim& dim, int64_t by, std::string_view what) {
  if (!dim.is_constant() || *dim.constant() % by == 0) return ok_status();
  return make_error(Code::kInvalidModel, "{} is {}; expected a multiple of {}", what, dim.text(), by);
}

Status infer_depth_to_space(InferContext& ctx) {
  const int64_t block = ctx.attrs<DepthToSpaceAttrs>().blocksize;
  TUTTI_TRY(check_block(block));
  TUTTI_TRY(expect_rank(ctx, 0, 4));
  if (!ctx.shape(0)) {
    ctx.set_output(0, ctx.dtype(0), fresh_shape(ctx, 4, "space"));
    return ok_status();
  }
  const Shape& in = *ctx.shape(0);
  TUTTI_TRY(check_divisible(in[1], block * block, "the channel count"));
  ctx.set_output(0, ctx.dtype(0),
                 {in[0], Dim::floor_div(in[1], Dim(block * block)), in[2] * Dim(block), in[3] * Dim(block)});
  return ok_status();
}

Status infer_space_to_depth(InferContext& ctx) {
  const int64_t block = ctx.attrs<SpaceToDepthAttrs>().blocksize;
  TUTTI_TRY(check_block(block));
  TUTTI_TRY(expect_rank(ctx, 0, 4));
  if (!ctx.shape(0)) {
    ctx.set_output(0, ctx.dtype(0), fresh_shape(ctx, 4, "depth"));
    return ok_status();
  }
  const Shape& in = *ctx.shape(0);
  TUTTI_TRY(check_divisible(in[2], block, "the height"));
  TUTTI_TRY(check_divisible(in[3], block, "the width"));
  ctx.set_output(
      0, ctx.dtype(0),
      {in[0], in[1] * Dim(block * block), Dim::floor_div(in[2], Dim(block)), Dim::floor_div(in[3], Dim(block))});
  return ok_status();
}

// Copies `in` seen as `inner` dims, transposed by `perm`, into an output of `dims`.
Status rearrange(EvalContext& ctx, const Dims& inner, const std::vector<size_t>& perm, Dims dims) {
  const Tensor& in = ctx.input(0);
  if (ir::element_count(inner) != in.size())
    return make_error(Code::kInvalidInput, "{} does not divide into blocks", in.type_text());
  const Dims own = ir::row_major_strides(inner);
  Dims view, strides;
  for (size_t axis : perm) view.push_back(inner[axis]), strides.push_back(own[axis]);
  Tensor permuted = Tensor::allocate(in.dtype(), view);
  strided_copy(permuted, in, 0, strides);
  ctx.set_output(0, permuted.reshaped(std::move(dims)));
  return ok_status();
}

// The rule cannot check a rank that only the run knows.
Status expect_image(const Tensor& in) {
  if (in.rank() == 4) return ok_status();
  return make_error(Code::kInvalidInput, "input is {}; expected rank 4", in.type_text());
}

Status eval_depth_to_space(EvalContext& ctx) {
  const auto& attrs = ctx.attrs<DepthToSpaceAttrs>();
  const int64_t b = attrs.blocksize;
  TUTTI_TRY(expect_image(ctx.input(0)));
  const Dims& d = ctx.input(0).dims();
  const int64_t c = d[1] / (b * b);
  const Dims out{d[0], c, d[2] * b, d[3] * b};
  if (attrs.mode == DepthOrder::kDCR) return rearrange(ctx, {d[0], b, b, c, d[2], d[3]}, {0, 3, 4, 1, 5, 2}, out);
  return rearrange(ctx, {d[0], c, b, b, d[2], d[3]}, {0, 1, 4, 2, 5, 3}, out);
}

Status eval_space_to_depth(EvalContext& ctx) {
  const int64_t b = ctx.attrs<SpaceToDepthAttrs>().blocksize;
  TUTTI_TRY(expect_image(ctx.input(0)));
  const Dims& d = ctx.input(0).dims();
  return rearrange(ctx, {d[0], d[1], d[2] / b, b, d[3] / b, b}, {0, 3, 5, 1, 2, 4},
                   {d[0], d[1] * b * b, d[2] / b, d[3] / b});
}

template <class A>
constexpr OpDef layout_op(std::string_view name, Status (*infer)(InferContext&), Status (*eval)(EvalContext&)) {
  return {.name = name,
          .min_inputs = 1,
          .max_inputs = 1,
          .make_attrs = ir::make_attrs<A>,
          .infer = infer,
          .eval = eval,
          .tolerance = ir::Tolerance::kExact};
}

}  // namespace

const OpDef kExpand{.name = "Expand",
                    .min_inputs = 2,
                    .max_inputs = 2,
                    .infer = infer_expand,
                    .eval = eval_expand,
                    .tolerance = ir::Tolerance::kExact};
const OpDef kTile{.name = "Tile",
                  .min_inputs = 2,
                  .max_inputs = 2,
                  .infer = infer_tile,
                  .eval = eval_tile,
                  .tolerance = ir::Tolerance::kExact};
const OpDef kPad{.name = "Pad",
                 .min_inputs = 2,
                 .max_inputs = 4,
                 .make_attrs = ir::make_attrs<PadAttrs>,
                 .infer = infer_pad,
                 .eval = eval_pad,
                 .tolerance = ir::Tolerance::kExact};
const OpDef kCenterCropPad{.name = "CenterCropPad",
                           .min_inputs = 2,
                           .max_inputs = 2,
                           .make_attrs = ir::make_attrs<CenterCropPadAttrs>,
                           .infer = infer_center_crop_pad,
                           .eval = eval_center_crop_pad,
                           .tolerance = ir::Tolerance::kExact};
const OpDef kTranspose = layout_op<TransposeAttrs>("Transpose", infer_transpose, eval_transpose);
const OpDef kDepthToSpace = layout_op<DepthToSpaceAttrs>("DepthToSpace", infer_depth_to_space, eval_depth_to_space);
const OpDef kSpaceToDepth = layout_op<SpaceToDepthAttrs>("SpaceToDepth", infer_space_to_depth, eval_space_to_depth);

}  // namespace tutti::ops
