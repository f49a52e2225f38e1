// Operators that make tensors from a few numbers.
#include <algorithm>
#include <cmath>

#include "ops/dispatch.h"
#include "ops/elements.h"
#include "ops/indexing.h"
#include "ops/infer_common.h"
#include "ops/pointwise_dims.h"
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

// --- ConstantOfShape

Status infer_constant_of_shape(InferContext& ctx) {
  TUTTI_TRY(expect_dtype(ctx, 0, {DType::kInt64}));
  TUTTI_TRY(expect_rank(ctx, 0, 1));
  TUTTI_TRY(expect_tensor(ctx, 1));
  const DType dtype = ctx.has_input(1) ? ctx.dtype(1) : DType::kFloat32;
  const auto dims = ctx.dims_value(0);
  if (!dims) {
    const auto rank = vector_length(ctx, 0);
    if (rank && *rank >= 0 && *rank <= 64)
      ctx.set_output(0, dtype, fresh_shape(ctx, *rank, "filled"));
    else
      ctx.set_output_unranked(0, dtype);
    return ok_status();
  }
  for (const Dim& d : *dims)
    if (d.is_constant() && *d.constant() < 0)
      return make_error(Code::kInvalidModel, "shape {} has the dimension {}; expected 0 or more", ir::shape_text(*dims),
                        d.text());
  ctx.set_output(0, dtype, *dims);
  const auto value = ctx.dims_value(1);
  if (value && value->size() == 1 && dims->size() <= 1) {
    const int64_t count = dims->empty() ? 1 : dims->front().constant().value_or(INT64_MAX);
    if (count <= 1024) ctx.set_dims_value(0, std::vector<Dim>(static_cast<size_t>(count), value->front()));
  }
  return ok_status();
}

Status eval_constant_of_shape(EvalContext& ctx) {
  const Tensor value = ctx.has_input(1) ? ctx.input(1) : zero_scalar(DType::kFloat32);
  if (value.size() != 1) return make_error(Code::kInvalidInput, "value is {}; expected one element", value.type_text());
  Tensor* out = TUTTI_TRY(ctx.output(0, value.dtype(), ctx.input(0).to_int64()));
  fill_run(*out, 0, out->size(), value);
  return ok_status();
}

// --- EyeLike

Status infer_eye_like(InferContext& ctx) {
  TUTTI_TRY(expect_rank(ctx, 0, 2));
  const DType dtype = ctx.attrs<EyeLikeAttrs>().dtype;
  ctx.set_output(0, ir::ValueType::tensor(dtype == DType::kUndefined ? ctx.dtype(0) : dtype, ctx.shape(0)));
  return ok_status();
}

Status eval_eye_like(EvalContext& ctx) {
  const auto& attrs = ctx.attrs<EyeLikeAttrs>();
  const Tensor& in = ctx.input(0);
  if (in.rank() != 2) return make_error(Code::kInvalidInput, "input is {}; expected rank 2", in.type_text());
  Tensor* out = TUTTI_TRY(ctx.output(0, attrs.dtype == DType::kUndefined ? in.dtype() : attrs.dtype, in.dims()));
  if (out->dtype() == DType::kString || ir::is_complex(out->dtype()))
    return make_error(Code::kUnsupported, "no identity matrix of {}", ir::dtype_name(out->dtype()));
  fill_run(*out, 0, out->size(), zero_scalar(out->dtype()));
  for (int64_t row = 0; row < in.dim(0); ++row)
    if (const int64_t column = row + std::clamp(attrs.k, -in.dim(0), in.dim(1)); column >= 0 && column < in.dim(1))
      out->set_double(row * in.dim(1) + column, 1);
  return ok_status();
}

// --- OneHot

Result<size_t> one_hot_axis(int64_t axis, int64_t rank) {
  return static_cast<size_t>(TUTTI_TRY(ir::normalize_axis(axis, rank + 1)));
}

Status infer_one_hot(InferContext& ctx) {
  TUTTI_TRY(expect_kind(ctx, 0, is_arithmetic, "a number"));
  TUTTI_TRY(expect_kind(ctx, 1, is_arithmetic, "a number"));
  TUTTI_TRY(expect_rank(ctx, 2, 1));
  if (!ctx.shape(0)) {
    ctx.set_output_unranked(0, ctx.dtype(2));
    return ok_status();
  }
  Shape out = *ctx.shape(0);
  const size_t axis = TUTTI_TRY(one_hot_axis(ctx.attrs<OneHotAttrs>().axis, ctx.input(0).rank()));
  const auto depth = ctx.dims_value(1);
  const Tensor* constant = ctx.constant(1);
  Dim size = depth && depth->size() == 1         ? depth->front()
             : constant && constant->size() == 1 ? Dim(constant->get_int(0))
                                                 : ctx.fresh_dim("depth");
  if (size.is_constant() && *size.constant() < 0)
    return make_error(Code::kInvalidModel, "depth is {}; expected 0 or more", size.text());
  out.insert(out.begin() + static_cast<int64_t>(axis), std::move(size));
  ctx.set_output(0, ctx.dtype(2), std::move(out));
  return ok_status();
}

Status eval_one_hot(EvalContext& ctx) {
  const Tensor &indices = ctx.input(0), &values = ctx.input(2);
  if (ctx.input(1).size() != 1 || values.size() != 2)
    return make_error(Code::kInvalidInput, "depth is {} and values {}; expected one element and two",
                      ctx.input(1).type_text(), values.type_text());
  const int64_t depth = ctx.input(1).get_int(0);
  const size_t axis = TUTTI_TRY(one_hot_axis(ctx.attrs<OneHotAttrs>().axis, indices.rank()));
  Dims dims = indices.dims();
  dims.insert(dims.begin() + static_cast<int64_t>(axis), depth);
  Tensor* out = TUTTI_TRY(ctx.output(0, values.dtype(), dims));
  fill_run(*out, 0, out->size(), values, 0);
  const int64_t inner = ir::element_count(Dims(dims.begin() + static_cast<int64_t>(axis) + 1, dims.end()));
  for (int64_t i = 0; i < indices.size(); ++i) {
    int64_t hot = indices.get_int(i);
    if (hot < -depth || hot >= depth) continue;
    if (hot < 0) hot += depth;
    copy_element(*out, (i / inner * depth + hot) * inner + i % inner, values, 1);
  }
  return ok_status();
}

// --- Range

Status check_delta(bool zero) {
  return zero ? Status(make_error(Code::kInvalidModel, "delta is 0; expected another number")) : ok_status();
}

// ceil((limit - start) / delta), at least 0, in integers.
int64_t integer_range_length(int64_t start, int64_t limit, int64_t delta) {
  if ((delta > 0 && limit <= start) || (delta < 0 && limit >= start)) return 0;
  const uint64_t distance = delta > 0 ? static_cast<uint64_t>(limit) - static_cast<uint64_t>(start)
                                      : static_cast<uint64_t>(start) - static_cast<uint64_t>(limit);
  const uint64_t step = delta > 0 ? static_cast<uint64_t>(delta) : -static_cast<uint64_t>(delta);
  return static_cast<int64_t>(std::min<uint64_t>((distance - 1) / step + 1, INT64_MAX));
}

Result<int64_t> float_range_length(double start, double limit, double delta) {
  const double length = std::ceil((limit - start) / delta);
  if (!(length < 281474976710656.0))
    return make_error(Code::kLimit, "range {} to {} by {} has no finite length", start, limit, delta);
  return std::max<int64_t>(0, static_cast<int64_t>(std::max(length, 0.0)));
}

Result<int64_t> range_length(const Tensor& start, const Tensor& limit, const Tensor& delta) {
  for (const Tensor* t : {&start, &limit, &delta})
    if (t->size() != 1) return make_error(Code::kInvalidInput, "range bound is {}; expected a scalar", t->type_text());
  TUTTI_TRY(check_delta(delta.get_double(0) == 0));
  if (ir::is_integer(start.dtype())) return integer_range_length(start.get_int(0), limit.get_int(0), delta.get_int(0));
  return float_range_length(start.get_double(0), limit.get_double(0), delta.get_double(0));
}

Status infer_range(InferContext& ctx) {
  TUTTI_TRY(expect_kind(ctx, 0, is_arithmetic, "a number"));
  TUTTI_TRY(expect_same_dtype(ctx, 0, 1));
  TUTTI_TRY(expect_same_dtype(ctx, 0, 2));
  if (ctx.constant(0) && ctx.constant(1) && ctx.constant(2)) {
    ctx.set_output(0, ctx.dtype(0), {TUTTI_TRY(range_length(*ctx.constant(0), *ctx.constant(1), *ctx.constant(2)))});
    return ok_status();
  }
  const auto start = ctx.dims_value(0), limit = ctx.dims_value(1), delta = ctx.dims_value(2);
  const bool known = start && limit && delta && start->size() == 1 && limit->size() == 1 && delta->size() == 1 &&
                     delta->front().is_constant();
  if (known) TUTTI_TRY(check_delta(delta->front().is(0)));
  if (!known || *delta->front().constant() < 0) {
    ctx.set_output(0, ctx.dtype(0), {ctx.fresh_dim("range")});
    return ok_status();
  }
  const Dim distance = limit->front() - start->front();
  const Dim length = distance.range(ctx.symbols()).min >= 0 ? distance : Dim::max(distance, 0);
  ctx.set_output(0, ctx.dtype(0), {Dim::ceil_div(length, delta->front())});
  return ok_status();
}

Status eval_range(EvalContext& ctx) {
  const Tensor &start = ctx.input(0), &delta = ctx.input(2);
  const int64_t length = TUTTI_TRY(range_length(start, ctx.input(1), delta));
  Tensor* out = TUTTI_TRY(ctx.output(0, start.dtype(), {length}));
  for (int64_t i = 0; i < length; ++i) {
    if (ir::is_integer(start.dtype()))
      out->set_int(i, static_cast<int64_t>(static_cast<uint64_t>(start.get_int(0)) +
                                           static_cast<uint64_t>(i) * static_cast<uint64_t>(delta.get_int(0))));
    else if (start.dtype() == DType::kFloat64)
      out->set_double(i, start.get_double(0) + static_cast<double>(i) * delta.get_double(0));
    else
      out->set_double(
          i, static_cast<float>(start.get_double(0)) + static_cast<float>(i) * static_cast<float>(delta.get_double(0)));
  }
  return ok_status();
}

}  // namespace

const OpDef kConstantOfShape{.name = "ConstantOfShape",
                             .min_inputs = 1,
                             .max_inputs = 2,
                             .infer = infer_constant_of_shape,
                             .eval = eval_constant_of_shape,
                             .tolerance = ir::Tolerance::kExact};
const OpDef kEyeLike{.name = "EyeLike",
                     .min_inputs = 1,
                     .max_inputs = 1,
                     .make_attrs = ir::make_attrs<EyeLikeAttrs>,
                     .infer = infer_eye_like,
                     .eval = eval_eye_like,
                     .tolerance = ir::Tolerance::kExact};
const OpDef kOneHot{.name = "OneHot",
                    .min_inputs = 3,
                    .max_inputs = 3,
                    .make_attrs = ir::make_attrs<OneHotAttrs>,
                    .infer = infer_one_hot,
                    .eval = eval_one_hot,
                    .tolerance = ir::Tolerance::kExact};
const OpDef kRange{.name = "Range",
                   .min_inputs = 3,
                   .max_inputs = 3,
                   .make_attrs = ir::make_attrs<RangeAttrs>,
                   .infer = infer_range,
                   .eval = eval_range,
                   .tolerance = ir::Tolerance::kRounding};

}  // namespace tutti::ops
