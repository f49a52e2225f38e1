// Operators that give the same elements another shape, and those that read shapes.
#include <algorithm>

#include "ops/infer_common.h"
#include "ops/view.h"

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

// Sets the shape of a view and hands known elements on.
void set_view(InferContext& ctx, Shape shape) {
  const bool keeps_elements = shape.size() <= 1;
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
  if (auto value = ctx.dims_value(0); value && keeps_elements) ctx.set_dims_value(0, *std::move(value));
}

// --- Reshape

struct ReshapeTarget {
  Shape dims;
  std::vector<bool> copied;        // the input's own dim at the same place, because the target has 0
  std::optional<size_t> wildcard;  // the position of -1, where `dims` has 1
};

// The shape input with 0 replaced by the input's dimension.
Result<ReshapeTarget> read_target(const std::vector<Dim>& target, const Shape* in, bool allowzero) {
  ReshapeTarget out;
  for (size_t i = 0; i < target.size(); ++i) {
    out.copied.push_back(target[i].is(0) && !allowzero);
    if (target[i].is(-1)) {
      if (out.wildcard) return make_error(Code::kInvalidModel, "shape {} has more than one -1", ir::shape_text(target));
      out.wildcard = i;
      out.dims.push_back(1);
    } else if (target[i].is_constant() && *target[i].constant() < 0) {
      return make_error(Code::kInvalidModel, "shape {} has the dimension {}; expected -1 or more",
                        ir::shape_text(target), target[i].text());
    } else if (out.copied[i]) {
      if (in != nullptr && i >= in->size())
        return make_error(Code::kInvalidModel, "shape {} copies dimension {} of an input of shape {}",
                          ir::shape_text(target), i, ir::shape_text(*in));
      out.dims.push_back(in ? (*in)[i] : Dim(0));
    } else {
      out.dims.push_back(target[i]);
    }
  }
  return out;
}

// What -1 stands for. Copied dims cancel, even where they are 0; then dims common to both sides do, so that symbols
// need not divide.
Result<Dim> wildcard_dim(const Shape& in, const ReshapeTarget& out) {
  Shape above, below;
  for (size_t i = 0; i < in.size(); ++i)
    if (i >= out.copied.size() || !out.copied[i]) above.push_back(in[i]);
  for (size_t i = 0; i < out.dims.size(); ++i) {
    if (i == out.wildcard || out.copied[i]) continue;
    const auto same = std::find(above.begin(), above.end(), out.dims[i]);
    if (same != above.end() && !out.dims[i].is(0))
      above.erase(same);
    else
      below.push_back(out.dims[i]);
  }
  const Dim count = product(above, 0, above.size()), rest = product(below, 0, below.size());
  if (rest.is(0) && (!count.is_constant() || count.is(0))) return Dim(0);
  if (rest.is(0))
    return make_error(Code::kInvalidModel, "cannot reshape {}, which is not empty, to a shape with a dimension of 0",
                      ir::shape_text(in));
  if (count.is_constant() && rest.is_constant() && *count.constant() % *rest.constant() != 0)
    return make_error(Code::kInvalidModel, "cannot reshape {} so that -1 is whole: {} elements in rows of {}",
                      ir::shape_text(in), count.text(), rest.text());
  return Dim::floor_div(count, rest);
}

Status infer_reshape(InferContext& ctx) {
  TUTTI_TRY(expect_tensor(ctx, 0));
  TUTTI_TRY(expect_dtype(ctx, 1, {DType::kInt64}));
  TUTTI_TRY(expect_rank(ctx, 1, 1));
  const auto target = ctx.dims_value(1);
  const Shape* in = ctx.shape(0) ? &*ctx.shape(0) : nullptr;
  if (!target) {
    const auto rank = vector_length(ctx, 1);
    if (rank && *rank <= 64)
      ctx.set_output(0, ctx.dtype(0), fresh_shape(ctx, *rank, "reshape"));
    else
      ctx.set_output_unranked(0, ctx.dtype(0));
    return ok_status();
  }
  const bool allowzero = ctx.attrs<ReshapeAttrs>().allowzero;
  const ReshapeTarget read = TUTTI_TRY(read_target(*target, in, allowzero));
  Shape out = read.dims;
  if (in == nullptr) {
    for (size_t i = 0; i < out.size(); ++i)
      if (read.wildcard == i || read.copied[i]) out[i] = ctx.fresh_dim("reshape");
  } else if (read.wildcard) {
    out[*read.wildcard] = TUTTI_TRY(wildcard_dim(*in, read));
  } else if (Dim::never_equal(product(*in, 0, in->size()), product(out, 0, out.size()))) {
    return make_error(Code::kInvalidModel, "cannot reshape {} to {}: the element counts differ", ir::shape_text(*in),
                      ir::shape_text(out));
  }
  set_view(ctx, std::move(out));
  return ok_status();
}

Status view_as(EvalContext& ctx, Dims dims) {
  const int64_t count = TUTTI_TRY(ir::checked_element_count(dims));
  if (count != ctx.input(0).size())
    return make_error(Code::kInvalidInput, "cannot view {} as {}: the element counts differ", ctx.input(0).type_text(),
                      ir::dims_text(dims));
  ctx.set_output(0, ctx.input(0).reshaped(std::move(dims)));
  return ok_status();
}

Status eval_reshape(EvalContext& ctx) {
  const std::vector<int64_t> target = ctx.input(1).to_int64();
  const Shape in = ir::to_shape(ctx.input(0).dims());
  ReshapeTarget out = TUTTI_TRY(read_target(ir::to_shape(target), &in, ctx.attrs<ReshapeAttrs>().allowzero));
  if (out.wildcard) out.dims[*out.wildcard] = TUTTI_TRY(wildcard_dim(in, out));
  return view_as(ctx, *ir::to_dims(out.dims));
}

// --- Squeeze, Unsqueeze, Flatten

template <class D>
std::vector<D> without_axes(const std::vector<D>& dims, const std::vector<int64_t>& axes) {
  std::vector<D> out;
  for (size_t i = 0; i < dims.size(); ++i)
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) == axes.end()) out.push_back(dims[i]);
  return out;
}

template <class D>
std::vector<D> with_ones(const std::vector<D>& dims, std::vector<int64_t> axes) {
  std::sort(axes.begin(), axes.end());
  std::vector<D> out = dims;
  for (int64_t axis : axes) out.insert(out.begin() + axis, D(1));
  return out;
}

Status infer_squeeze(InferContext& ctx) {
  TUTTI_TRY(expect_tensor(ctx, 0));
  TUTTI_TRY(expect_dtype(ctx, 1, {DType::kInt64}));
  const auto axes_value = ctx.ints_value(1);
  if (!ctx.shape(0) || (ctx.has_input(1) && !axes_value)) {
    ctx.set_output_unranked(0, ctx.dtype(0));
    return ok_status();
  }
  const Shape& in = *ctx.shape(0);
  std::vector<int64_t> axes;
  if (axes_value) axes = TUTTI_TRY(ir::normalize_axes(*axes_value, ctx.input(0).rank()));
  for (int64_t axis : axes)
    if (in[static_cast<size_t>(axis)].is_constant() && !in[static_cast<size_t>(axis)].is(1))
      return make_error(Code::kInvalidModel, "axis {} of {} is not 1 and cannot be squeezed", axis, ir::shape_text(in));
  // Without axes every 1 goes: where an open dim may turn out to be 1, not even the rank is known before the run.
  const auto is_open = [](const Dim& dim) { return !dim.is_constant(); };
  if (!axes_value && std::any_of(in.begin(), in.end(), is_open)) {
    ctx.set_output_unranked(0, ctx.dtype(0));
    return ok_status();
  }
  for (size_t i = 0; i < in.size() && !axes_value; ++i)
    if (in[i].is(1)) axes.push_back(static_cast<int64_t>(i));
  set_view(ctx, without_axes(in, axes));
  return ok_status();
}

Status eval_squeeze(EvalContext& ctx) {
  const Dims& dims = ctx.input(0).dims();
  std::vector<int64_t> axes;
  if (ctx.has_input(1))
    axes = TUTTI_TRY(ir::normalize_axes(ctx.input(1).to_int64(), ctx.input(0).rank()));
  else
    for (size_t i = 0; i < dims.size(); ++i)
      if (dims[i] == 1) axes.push_back(static_cast<int64_t>(i));
  return view_as(ctx, without_axes(dims, axes));
}

Status infer_unsqueeze(InferContext& ctx) {
  TUTTI_TRY(expect_tensor(ctx, 0));
  TUTTI_TRY(expect_dtype(ctx, 1, {DType::kInt64}));
  const auto axes = ctx.ints_value(1);
  if (!ctx.shape(0) || !axes) {
    const auto count = vector_length(ctx, 1);
    if (ctx.shape(0) && count && *count >= 0 && *count <= 64)
      ctx.set_output(0, ctx.dtype(0), fresh_shape(ctx, ctx.input(0).rank() + *count, "unsqueeze"));
    else
      ctx.set_output_unranked(0, ctx.dtype(0));
    return ok_status();
  }
  const auto rank = ctx.input(0).rank() + static_cast<int64_t>(axes->size());
  set_view(ctx, with_ones(*ctx.shape(0), TUTTI_TRY(ir::normalize_axes(*axes, rank))));
  return ok_status();
}

Status eval_unsqueeze(EvalContext& ctx) {
  const std::vector<int64_t> axes = ctx.input(1).to_int64();
  const auto rank = ctx.input(0).rank() + static_cast<int64_t>(axes.size());
  return view_as(ctx, with_ones(ctx.input(0).dims(), TUTTI_TRY(ir::normalize_axes(axes, rank))));
}

// The axis may be the rank itself: everything is in the first dimension.
Result<size_t> flatten_axis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis > rank)
    return make_error(Code::kInvalidModel, "axis is {}; expected {} to {}", axis, -rank, rank);
  return static_cast<size_t>(axis < 0 ? axis + rank : axis);
}

Status infer_flatten(InferContext& ctx) {
  TUTTI_TRY(expect_tensor(ctx, 0));
  if (!ctx.shape(0)) {
    ctx.set_output(0, ctx.dtype(0), fresh_shape(ctx, 2, "flatten"));
    return ok_status();
  }
  const Shape& in = *ctx.shape(0);
  const size_t axis = TUTTI_TRY(flatten_axis(ctx.attrs<FlattenAttrs>().axis, ctx.input(0).rank()));
  ctx.set_output(0, ctx.dtype(0), {product(in, 0, axis), product(in, axis, in.size())});
  return ok_status();
}

Status eval_flatten(EvalContext& ctx) {
  const Dims& dims = ctx.input(0).dims();
  const size_t axis = TUTTI_TRY(flatten_axis(ctx.attrs<FlattenAttrs>().axis, ctx.input(0).rank()));
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < dims.size(); ++i) (i < axis ? outer : inner) *= dims[i];
  return view_as(ctx, {outer, inner});
}

// --- Shape, Size

std::pair<size_t, size_t> shape_range(const ShapeAttrs& attrs, int64_t rank) {
  const auto clamp = [rank](int64_t i) { return std::clamp(i < 0 ? i + rank : i, int64_t{0}, rank); };
  const int64_t begin = clamp(attrs.start), end = clamp(attrs.end.value_or(rank));
  return {static_cast<size_t>(begin), static_cast<size_t>(std::max(begin, end))};
}

Status infer_shape(InferContext& ctx) {
  TUTTI_TRY(expect_tensor(ctx, 0));
  if (!ctx.shape(0)) {
    ctx.set_output(0, DType::kInt64, fresh_shape(ctx, 1, "rank"));
    return ok_status();
  }
  const Shape in = *ctx.shape(0);
  const auto [begin, end] = shape_range(ctx.attrs<ShapeAttrs>(), static_cast<int64_t>(in.size()));
  ctx.set_output(0, DType::kInt64, {static_cast<int64_t>(end - begin)});
  ctx.set_dims_value(0, Shape(in.begin() + static_cast<int64_t>(begin), in.begin() + static_cast<int64_t>(end)));
  return ok_status();
}

Status eval_shape(EvalContext& ctx) {
  const Dims& dims = ctx.input(0).dims();
  const auto [begin, end] = shape_range(ctx.attrs<ShapeAttrs>(), ctx.input(0).rank());
  const std::span<const int64_t> part(dims.data() + begin, end - begin);
  ctx.set_output(0, Tensor::from<int64_t>({static_cast<int64_t>(part.size())}, part));
  return ok_status();
}

Status infer_size(InferContext& ctx) {
  TUTTI_TRY(expect_tensor(ctx, 0));
  ctx.set_output(0, DType::kInt64, {});
  if (ctx.shape(0)) ctx.set_dims_value(0, {product(*ctx.shape(0), 0, ctx.shape(0)->size())});
  return ok_status();
}

Status eval_size(EvalContext& ctx) {
  ctx.set_output(0, Tensor::scalar<int64_t>(ctx.input(0).size()));
  return ok_status();
}

}  // namespace

const OpDef kReshape{.name = "Reshape",
                     .min_inputs = 2,
                     .max_inputs = 2,
                     .make_attrs = ir::make_attrs<ReshapeAttrs>,
                     .infer = infer_reshape,
                     .eval = eval_reshape,
                     .tolerance = ir::Tolerance::kExact,
                     .traits = ir::kView};
const OpDef kSqueeze{.name = "Squeeze",
                     .min_inputs = 1,
                     .max_inputs = 2,
                     .infer = infer_squeeze,
                     .eval = eval_squeeze,
                     .tolerance = ir::Tolerance::kExact,
                     .traits = ir::kView};
const OpDef kUnsqueeze{.name = "Unsqueeze",
                       .min_inputs = 2,
                       .max_inputs = 2,
                       .infer = infer_unsqueeze,
                       .eval = eval_unsqueeze,
                       .tolerance = ir::Tolerance::kExact,
                       .traits = ir::kView};
const OpDef kFlatten{.name = "Flatten",
                     .min_inputs = 1,
                     .max_inputs = 1,
                     .make_attrs = ir::make_attrs<FlattenAttrs>,
                     .infer = infer_flatten,
                     .eval = eval_flatten,
                     .tolerance = ir::Tolerance::kExact,
                     .traits = ir::kView};
const OpDef kShape{.name = "Shape",
                   .min_inputs = 1,
                   .max_inputs = 1,
                   .make_attrs = ir::make_attrs<ShapeAttrs>,
                   .infer = infer_shape,
                   .eval = eval_shape,
                   .tolerance = ir::Tolerance::kExact};
const OpDef kSize{.name = "Size",
                  .min_inputs = 1,
                  .max_inputs = 1,
                  .infer = infer_size,
                  .eval = eval_size,
                  .tolerance = ir::Tolerance::kExact};

}  // namespace tutti::ops
