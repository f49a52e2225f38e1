// ArgMax, ArgMin and running sums and products along one axis.
#include <cmath>

#include "ops/dispatch.h"
#include "ops/elements.h"
#include "ops/infer_common.h"
#include "ops/reduce.h"

namespace tutti::ops {
namespace {

using ir::Dims;
using ir::DType;
using ir::EvalContext;
using ir::InferContext;
using ir::OpDef;
using ir::Shape;
using ir::Tensor;
using ir::Tolerance;

// The elements around one axis: element (o, k, i) is at (o * length + k) * inner + i.
struct Axis {
  int64_t outer = 1, length = 1, inner = 1;
  Axis(const Dims& dims, int64_t axis) : length(dims[static_cast<size_t>(axis)]) {
    for (size_t i = 0; i < dims.size(); ++i)
      if (static_cast<int64_t>(i) != axis) (static_cast<int64_t>(i) < axis ? outer : inner) *= dims[i];
  }
};

Status infer_arg(InferContext& ctx) {
  TUTTI_TRY(expect_kind(ctx, 0, is_arithmetic, "a number"));
  const auto& attrs = ctx.attrs<ArgAttrs>();
  if (!ctx.shape(0)) {
    ctx.set_output_unranked(0, DType::kInt64);
    return ok_status();
  }
  Shape out = *ctx.shape(0);
  const auto axis = static_cast<size_t>(TUTTI_TRY(axis_of(ctx, 0, attrs.axis)));
  if (attrs.keepdims)
    out[axis] = 1;
  else
    out.erase(out.begin() + static_cast<int64_t>(axis));
  ctx.set_output(0, DType::kInt64, std::move(out));
  return ok_status();
}

// NaN counts as the best, as in numpy.
template <bool kLargest, class C>
bool better(C x, C best) {
  if constexpr (std::is_same_v<C, double>)
    if (std::isnan(x) || std::isnan(best)) return std::isnan(x) && !std::isnan(best);
  return kLargest ? (x > best) : (x < best);
}

template <bool kLargest, class C>
void find_best(const Tensor& in, const Axis& axis, bool last, Tensor& out) {
  std::vector<C> line(static_cast<size_t>(axis.length));
  for (int64_t o = 0; o < axis.outer; ++o)
    for (int64_t i = 0; i < axis.inner; ++i) {
      load_block(in, o * axis.length * axis.inner + i, axis.inner, axis.length, line.data());
      size_t best = 0;
      for (size_t k = 1; k < line.size(); ++k)
        if (better<kLargest>(line[k], line[best]) || (last && !better<kLargest>(line[best], line[k]))) best = k;
      out.set_int(o * axis.inner + i, static_cast<int64_t>(best));
    }
}

template <bool kLargest>
Status eval_arg(EvalContext& ctx) {
  const auto& attrs = ctx.attrs<ArgAttrs>();
  const Tensor& in = ctx.input(0);
  const int64_t at = TUTTI_TRY(ir::normalize_axis(attrs.axis, in.rank()));
  const Axis axis(in.dims(), at);
  if (axis.length == 0 && axis.outer * axis.inner > 0)
    return make_error(Code::kInvalidInput, "axis {} of {} is empty; expected an element", at, in.type_text());
  Dims dims = in.dims();
  if (attrs.keepdims)
    dims[static_cast<size_t>(at)] = 1;
  else
    dims.erase(dims.begin() + at);
  Tensor* out = TUTTI_TRY(ctx.output(0, DType::kInt64, dims));
  return dispatch_wide(in.dtype(), [&]<class C>() { find_best<kLargest, C>(in, axis, attrs.select_last_index, *out); });
}

Status infer_cumulative(InferContext& ctx) {
  TUTTI_TRY(expect_kind(ctx, 1, is_int32_or_int64, "int32 or int64"));
  TUTTI_TRY(expect_rank_at_least(ctx, 0, 1));
  if (const auto axis = ctx.ints_value(1); axis && axis->size() == 1 && ctx.shape(0))
    TUTTI_TRY(axis_of(ctx, 0, axis->front()));
  return infer_number_like_first(ctx);
}

template <class C, bool kProduct>
C combine(C a, C b) {
  if constexpr (std::is_same_v<C, double>)
    return kProduct ? a * b : a + b;
  else
    return static_cast<C>(kProduct ? static_cast<uint64_t>(a) * static_cast<uint64_t>(b)
                                   : static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

template <class C, bool kProduct>
void scan(const Tensor& in, const Axis& axis, const CumulativeAttrs& attrs, Tensor& out) {
  for (int64_t o = 0; o < axis.outer; ++o)
    for (int64_t i = 0; i < axis.inner; ++i) {
      C total = kProduct ? C(1) : C(0);
      for (int64_t step = 0; step < axis.length; ++step) {
        const int64_t k = attrs.reverse ? axis.length - 1 - step : step, at = (o * axis.length + k) * axis.inner + i;
        C x;
        load_block(in, at, 1, 1, &x);
        const C next = combine<C, kProduct>(total, x);
        store_block(out, at, 1, attrs.exclusive ? &total : &next);
        total = next;
      }
    }
}

template <bool kProduct>
Status eval_cumulative(EvalContext& ctx) {
  const Tensor& in = ctx.input(0);
  if (ctx.input(1).size() != 1)
    return make_error(Code::kInvalidInput, "axis has {} elements; expected 1", ctx.input(1).size());
  const int64_t at = TUTTI_TRY(ir::normalize_axis(ctx.input(1).get_int(0), in.rank()));
  Tensor* out = TUTTI_TRY(ctx.output(0, in.dtype(), in.dims()));
  return dispatch_wide(
      in.dtype(), [&]<class C>() { scan<C, kProduct>(in, Axis(in.dims(), at), ctx.attrs<CumulativeAttrs>(), *out); });
}

}  // namespace

const OpDef kArgMax{.name = "ArgMax",
                    .min_inputs = 1,
                    .max_inputs = 1,
                    .make_attrs = ir::make_attrs<ArgAttrs>,
                    .infer = infer_arg,
                    .eval = eval_arg<true>,
                    .tolerance = Tolerance::kExact};
const OpDef kArgMin{.name = "ArgMin",
                    .min_inputs = 1,
                    .max_inputs = 1,
                    .make_attrs = ir::make_attrs<ArgAttrs>,
                    .infer = infer_arg,
                    .eval = eval_arg<false>,
                    .tolerance = Tolerance::kExact};
const OpDef kCumSum{.name = "CumSum",
                    .min_inputs = 2,
                    .max_inputs = 2,
                    .make_attrs = ir::make_attrs<CumulativeAttrs>,
                    .infer = infer_cumulative,
                    .eval = eval_cumulative<false>,
                    .tolerance = Tolerance::kRounding};
const OpDef kCumProd{.name = "CumProd",
                     .min_inputs = 2,
                     .max_inputs = 2,
                     .make_attrs = ir::make_attrs<CumulativeAttrs>,
                     .infer = infer_cumulative,
                     .eval = eval_cumulative<true>,
                     .tolerance = Tolerance::kRounding};

}  // namespace tutti::ops
