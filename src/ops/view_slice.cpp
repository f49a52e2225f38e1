// Slice, Split and Concat.
#include <algorithm>

#include "ops/elements.h"
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

struct SliceRange {
  int64_t start, step, length;
};

// numpy's clamping, without overflow for absurd bounds.
SliceRange clamp_slice(int64_t dim, int64_t start, int64_t end, int64_t step) {
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? dim : dim - 1;
  const auto clamp = [&](int64_t i) { return std::clamp(i < 0 ? i + dim : i, low, high); };
  const int64_t from = clamp(start), to = clamp(end);
  const int64_t distance = step > 0 ? to - from : from - to;
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : -static_cast<uint64_t>(step);
  const int64_t length = distance <= 0 ? 0 : static_cast<int64_t>((static_cast<uint64_t>(distance) - 1) / stride) + 1;
  return {from, length <= 1 ? 1 : step, length};
}

// a <= b for sure. Interval arithmetic does not see that s/2 <= s, which is how exporters halve an axis.
bool at_most(const Dim& a, const Dim& b, const ir::SymbolRanges& ranges) {
  if (a == b || (b - a).range(ranges).min >= 0) return true;
  if (b.range(ranges).min < 0) return false;
  for (int64_t parts = 2; parts <= 8; ++parts)
    if (a == Dim::floor_div(b, Dim(parts))) return true;
  return false;
}

// A bound of a forward slice as a position in [0, dim]; nothing when its sign is unknown.
std::optional<Dim> position(const Dim& bound, const Dim& dim, const ir::SymbolRanges& ranges) {
  if (bound == dim) return dim;
  const ir::Range range = bound.range(ranges);
  constexpr int64_t kFar = int64_t{1} << 31;  // exporters write "to the end" as INT32_MAX or INT64_MAX
  if (bound.is_constant() && *bound.constant() >= kFar - 1) return dim;
  if (bound.is_constant() && *bound.constant() <= -kFar) return Dim(0);
  if (range.min >= 0) {
    return at_most(bound, dim, ranges) ? bound : at_most(dim, bound, ranges) ? dim : Dim::min(bound, dim);
  }
  if (range.max < 0) return (dim + bound).range(ranges).min >= 0 ? dim + bound : Dim::max(dim + bound, 0);
  return std::nullopt;
}

std::optional<Dim> slice_dim(const Dim& dim, const Dim& start, const Dim& end, int64_t step,
                             const ir::SymbolRanges& ranges) {
  if (dim.is_constant() && start.is_constant() && end.is_constant())
    return Dim(clamp_slice(*dim.constant(), *start.constant(), *end.constant(), step).length);
  if (step < 0) {  // a reversal of the whole axis
    const bool all = start.is(-1) && end.is_constant() && *end.constant() < -(int64_t{1} << 30);
    return all && step > -(int64_t{1} << 31) ? std::optional(Dim::ceil_div(dim, Dim(-step))) : std::nullopt;
  }
  const auto from = position(start, dim, ranges), to = position(end, dim, ranges);
  if (!from || !to) return std::nullopt;
  const Dim distance = *to - *from;
  const Dim length = at_most(*from, *to, ranges) ? distance : Dim::max(distance, 0);
  return step == 1 ? length : Dim::floor_div(length + Dim(step - 1), Dim(step));
}

struct SlicePlan {
  std::vector<int64_t> axes, steps;
};

// Axes and steps where known. `count` is the length of `starts`.
Result<std::optional<SlicePlan>> slice_plan(const InferContext& ctx, size_t count) {
  SlicePlan plan;
  if (ctx.has_input(3)) {
    const auto axes = ctx.ints_value(3);
    if (!axes) return std::optional<SlicePlan>();
    plan.axes = TUTTI_TRY(ir::normalize_axes(*axes, ctx.input(0).rank()));
  } else {
    for (size_t i = 0; i < count; ++i) plan.axes.push_back(static_cast<int64_t>(i));
    if (static_cast<int64_t>(count) > ctx.input(0).rank())
      return make_error(Code::kInvalidModel, "starts has {} elements; expected at most the input's rank {}", count,
                        ctx.input(0).rank());
  }
  plan.steps.assign(count, 1);
  if (ctx.has_input(4)) {
    const auto steps = ctx.ints_value(4);
    if (!steps) return std::optional<SlicePlan>();
    plan.steps = *steps;
  }
  if (plan.axes.size() != count || plan.steps.size() != count)
    return make_error(Code::kInvalidModel, "starts has {} elements, axes {} and steps {}; expected equal counts", count,
                      plan.axes.size(), plan.steps.size());
  if (std::find(plan.steps.begin(), plan.steps.end(), 0) != plan.steps.end())
    return make_error(Code::kInvalidModel, "steps contains 0; expected steps other than 0");
  return std::optional(std::move(plan));
}

void propagate_slice(InferContext& ctx, const Dim& start, const Dim& end, int64_t step) {
  const auto data = ctx.dims_value(0);
  if (!data || !start.is_constant() || !end.is_constant()) return;
  const SliceRange range = clamp_slice(static_cast<int64_t>(data->size()), *start.constant(), *end.constant(), step);
  std::vector<Dim> out;
  for (int64_t i = 0; i < range.length; ++i) out.push_back((*data)[static_cast<size_t>(range.start + i * range.step)]);
  ctx.set_dims_value(0, std::move(out));
}

Status infer_slice(InferContext& ctx) {
  TUTTI_TRY(expect_tensor(ctx, 0));
  for (int i = 1; i < 5; ++i) TUTTI_TRY(expect_dtype(ctx, i, {DType::kInt32, DType::kInt64}));
  for (int i = 1; i < 5; ++i) TUTTI_TRY(expect_rank(ctx, i, 1));
  if (!ctx.shape(0)) {
    ctx.set_output_unranked(0, ctx.dtype(0));
    return ok_status();
  }
  const auto starts = ctx.dims_value(1), ends = ctx.dims_value(2);
  const auto count = starts ? std::optional(static_cast<int64_t>(starts->size())) : vector_length(ctx, 1);
  std::optional<SlicePlan> plan;
  if (count && *count >= 0 && *count <= ctx.input(0).rank())
    plan = TUTTI_TRY(slice_plan(ctx, static_cast<size_t>(*count)));
  else if (count && *count > ctx.input(0).rank())
    return make_error(Code::kInvalidModel, "starts has {} elements; expected at most the input's rank {}", *count,
                      ctx.input(0).rank());
  if (!plan) {
    ctx.set_output(0, ctx.dtype(0), fresh_shape(ctx, ctx.input(0).rank(), "slice"));
    return ok_status();
  }
  if (starts && ends && starts->size() != ends->size())
    return make_error(Code::kInvalidModel, "starts has {} elements and ends {}; expected equal counts", starts->size(),
                      ends->size());
  Shape out = *ctx.shape(0);
  for (size_t i = 0; i < plan->axes.size(); ++i) {
    Dim& dim = out[static_cast<size_t>(plan->axes[i])];
    std::optional<Dim> length;
    if (starts && ends) length = slice_dim(dim, (*starts)[i], (*ends)[i], plan->steps[i], ctx.symbols());
    dim = length ? *length : ctx.fresh_dim("slice");
  }
  ctx.set_output(0, ctx.dtype(0), std::move(out));
  if (starts && ends && starts->size() == 1 && ctx.input(0).rank() == 1)
    propagate_slice(ctx, (*starts)[0], (*ends)[0], plan->steps[0]);
  return ok_status();
}

Status eval_slice(EvalContext& ctx) {
  const Tensor& in = ctx.input(0);
  const auto starts = ctx.input(1).to_int64(), ends = ctx.input(2).to_int64();
  std::vector<int64_t> axes, steps(starts.size(), 1);
  for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  if (ctx.has_input(3)) axes = ctx.input(3).to_int64();
  axes = TUTTI_TRY(ir::normalize_axes(axes, in.rank()));
  if (ctx.has_input(4)) steps = ctx.input(4).to_int64();
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    return make_error(Code::kInvalidInput,
                      "starts, ends, axes and steps have {}, {}, {} and {} elements; expected equal counts",
                      starts.size(), ends.size(), axes.size(), steps.size());
  Dims dims = in.dims(), strides = ir::row_major_strides(dims);
  int64_t base = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (steps[i] == 0) return make_error(Code::kInvalidInput, "steps contains 0; expected steps other than 0");
    const auto axis = static_cast<size_t>(axes[i]);
    const SliceRange range = clamp_slice(dims[axis], starts[i], ends[i], steps[i]);
    if (range.length > 0) base += range.start * strides[axis];
    dims[axis] = range.length;
    strides[axis] *= range.step;
  }
  Tensor* out = TUTTI_TRY(ctx.output(0, in.dtype(), dims));
  strided_copy(*out, in, base, strides);
  return ok_status();
}

// --- Split

// Equal parts, the last one smaller.
std::vector<int64_t> even_parts(int64_t dim, int64_t count) {
  const int64_t part = dim / count + (dim % count != 0);
  std::vector<int64_t> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(std::clamp(dim - i * part, int64_t{0}, part));
  return out;
}

Status check_parts(const std::vector<int64_t>& parts, int64_t dim) {
  int64_t sum = 0;
  for (int64_t part : parts) {
    if (part < 0 || part > dim - sum)
      return make_error(Code::kInvalidModel, "split {} does not add up to the axis's {}", ir::dims_text(parts), dim);
    sum += part;
  }
  if (sum != dim)
    return make_error(Code::kInvalidModel, "split {} adds up to {}; expected the axis's {}", ir::dims_text(parts), sum,
                      dim);
  return ok_status();
}

Status check_num_outputs(const SplitAttrs& attrs, int outputs, bool has_split) {
  if (has_split || !attrs.num_outputs || *attrs.num_outputs == outputs) return ok_status();
  return make_error(Code::kInvalidModel, "num_outputs is {} but the node has {} outputs", *attrs.num_outputs, outputs);
}

Status infer_split(InferContext& ctx) {
  TUTTI_TRY(expect_tensor(ctx, 0));
  TUTTI_TRY(expect_dtype(ctx, 1, {DType::kInt64}));
  const auto& attrs = ctx.attrs<SplitAttrs>();
  const int outputs = ctx.output_count();
  TUTTI_TRY(check_num_outputs(attrs, outputs, ctx.has_input(1)));
  if (!ctx.shape(0)) {
    for (int i = 0; i < outputs; ++i) ctx.set_output_unranked(i, ctx.dtype(0));
    return ok_status();
  }
  const auto axis = static_cast<size_t>(TUTTI_TRY(axis_of(ctx, 0, attrs.axis)));
  const Shape in = *ctx.shape(0);
  Shape parts;
  if (const auto known = ctx.dims_value(1)) {
    parts = *known;
    if (static_cast<int>(parts.size()) != outputs)
      return make_error(Code::kInvalidModel, "split has {} elements; expected {}, one per output", parts.size(),
                        outputs);
    const auto numbers = ir::to_dims(parts);
    if (numbers && in[axis].is_constant()) TUTTI_TRY(check_parts(*numbers, *in[axis].constant()));
  } else if (ctx.has_input(1)) {
    parts = fresh_shape(ctx, outputs, "split");
  } else if (in[axis].is_constant()) {
    parts = ir::to_shape(even_parts(*in[axis].constant(), outputs));
  } else {
    const Dim part = Dim::ceil_div(in[axis], Dim(outputs));
    parts.assign(static_cast<size_t>(outputs), part);
    if (!(part * Dim(outputs) == in[axis])) parts.back() = in[axis] - part * Dim(outputs - 1);
  }
  for (int i = 0; i < outputs; ++i) {
    Shape out = in;
    out[axis] = parts[static_cast<size_t>(i)];
    ctx.set_output(i, ctx.dtype(0), std::move(out));
  }
  return ok_status();
}

Status eval_split(EvalContext& ctx) {
  const Tensor& in = ctx.input(0);
  TUTTI_TRY(check_num_outputs(ctx.attrs<SplitAttrs>(), ctx.output_count(), ctx.has_input(1)));
  const int64_t axis = TUTTI_TRY(ir::normalize_axis(ctx.attrs<SplitAttrs>().axis, in.rank()));
  const auto parts = ctx.has_input(1) ? ctx.input(1).to_int64() : even_parts(in.dim(axis), ctx.output_count());
  if (static_cast<int>(parts.size()) != ctx.output_count())
    return make_error(Code::kInvalidInput, "split has {} elements; expected {}, one per output", parts.size(),
                      ctx.output_count());
  TUTTI_TRY(check_parts(parts, in.dim(axis)));
  const Dims strides = ir::row_major_strides(in.dims());
  int64_t start = 0;
  for (int i = 0; i < ctx.output_count(); ++i) {
    const int64_t length = parts[static_cast<size_t>(i)];
    if (ctx.wants_output(i)) {
      Dims dims = in.dims();
      dims[static_cast<size_t>(axis)] = length;
      strided_copy(*TUTTI_TRY(ctx.output(i, in.dtype(), dims)), in, start * strides[static_cast<size_t>(axis)],
                   strides);
    }
    start += length;
  }
  return ok_status();
}

// --- Concat

void propagate_concat(InferContext& ctx) {
  std::vector<Dim> all;
  for (int i = 0; i < ctx.input_count(); ++i) {
    const auto part = ctx.dims_value(i);
    if (!part) return;
    all.insert(all.end(), part->begin(), part->end());
  }
  ctx.set_dims_value(0, std::move(all));
}

Status infer_concat(InferContext& ctx) {
  std::optional<Shape> out;
  for (int i = 0; i < ctx.input_count(); ++i) {
    if (!ctx.has_input(i)) return make_error(Code::kInvalidModel, "input {} is absent; expected a tensor", i);
    TUTTI_TRY(expect_tensor(ctx, i));
    TUTTI_TRY(expect_same_dtype(ctx, 0, i));
    if (!ctx.shape(i)) {
      ctx.set_output_unranked(0, ctx.dtype(0));
      return ok_status();
    }
  }
  const auto axis = static_cast<size_t>(TUTTI_TRY(axis_of(ctx, 0, ctx.attrs<ConcatAttrs>().axis)));
  Shape shape = *ctx.shape(0);
  for (int i = 1; i < ctx.input_count(); ++i) {
    const Shape& part = *ctx.shape(i);
    TUTTI_TRY(expect_rank(ctx, i, static_cast<int64_t>(shape.size())));
    for (size_t k = 0; k < shape.size(); ++k) {
      if (k == axis)
        shape[k] = shape[k] + part[k];
      else if (Dim::never_equal(shape[k], part[k]))
        return make_error(Code::kInvalidModel, "input {} has shape {}; expected {} in dimension {}, as input 0 has", i,
                          ir::shape_text(part), shape[k].text(), k);
      else if (part[k].is_constant())
        shape[k] = part[k];
    }
  }
  const bool vector = shape.size() == 1;
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
  if (vector) propagate_concat(ctx);
  return ok_status();
}

Status eval_concat(EvalContext& ctx) {
  const int64_t axis = TUTTI_TRY(ir::normalize_axis(ctx.attrs<ConcatAttrs>().axis, ctx.input(0).rank()));
  Dims dims = ctx.input(0).dims();
  for (int i = 1; i < ctx.input_count(); ++i) {
    const Dims& part = ctx.input(i).dims();
    for (size_t k = 0; k < dims.size(); ++k)
      if (part.size() != dims.size() || (static_cast<int64_t>(k) != axis && part[k] != dims[k]))
        return make_error(Code::kInvalidInput, "cannot join {} and {} along axis {}", ctx.input(0).type_text(),
                          ctx.input(i).type_text(), axis);
    dims[static_cast<size_t>(axis)] += part[static_cast<size_t>(axis)];
  }
  Tensor* out = TUTTI_TRY(ctx.output(0, ctx.input(0).dtype(), dims));
  int64_t inner = 1, outer = 1, start = 0;
  for (size_t k = 0; k < dims.size(); ++k)
    static_cast<int64_t>(k)<axis ? outer *= dims[k] : static_cast<int64_t>(k)> axis ? inner *= dims[k] : 0;
  const int64_t row = dims[static_cast<size_t>(axis)] * inner;
  for (int i = 0; i < ctx.input_count(); ++i) {
    const int64_t length = ctx.input(i).dim(axis) * inner;
    for (int64_t o = 0; o < outer; ++o) copy_run(*out, o * row + start, ctx.input(i), o * length, 1, length);
    start += length;
  }
  return ok_status();
}

}  // namespace

const OpDef kSlice{.name = "Slice",
                   .min_inputs = 3,
                   .max_inputs = 5,
                   .infer = infer_slice,
                   .eval = eval_slice,
                   .tolerance = ir::Tolerance::kExact};
const OpDef kSplit{.name = "Split",
                   .min_inputs = 1,
                   .max_inputs = 2,
                   .max_outputs = ir::kAnyCount,
                   .make_attrs = ir::make_attrs<SplitAttrs>,
                   .infer = infer_split,
                   .eval = eval_split,
                   .tolerance = ir::Tolerance::kExact};
const OpDef kConcat{.name = "Concat",
                    .min_inputs = 1,
                    .max_inputs = ir::kAnyCount,
                    .make_attrs = ir::make_attrs<ConcatAttrs>,
                    .infer = infer_concat,
                    .eval = eval_concat,
                    .tolerance = ir::Tolerance::kExact};

}  // namespace tutti::ops
