// Pointwise operators of several inputs, and those that pass their input on.
#include <algorithm>
#include <cmath>

#include "ops/pointwise.h"
#include "ops/pointwise_dims.h"
#include "ops/pointwise_eval.h"

namespace tutti::ops {
namespace {

using ir::Dim;
using ir::Dims;
using ir::DType;
using ir::EvalContext;
using ir::InferContext;
using ir::OpDef;
using ir::Tensor;
using ir::Tolerance;

Status infer_variadic(InferContext& ctx, bool (*accepts)(DType), std::string_view kind) {
  TUTTI_TRY(expect_kind(ctx, 0, accepts, kind));
  for (int i = 1; i < ctx.input_count(); ++i) TUTTI_TRY(expect_same_dtype(ctx, 0, i));
  ctx.set_output(0, ir::ValueType::tensor(ctx.dtype(0), TUTTI_TRY(broadcast_inputs(ctx, 0, ctx.input_count() - 1))));
  return ok_status();
}

Status infer_floats(InferContext& ctx) {
  return infer_variadic(ctx, ir::is_compute_float, "float32, float64, float16 or bfloat16");
}

template <auto F>
Status infer_extreme(InferContext& ctx) {
  TUTTI_TRY(infer_variadic(ctx, is_arithmetic, "a number"));
  if (ctx.input_count() == 2)
    propagate_dims(ctx, [](const Dim& a, const Dim& b) -> std::optional<Dim> { return F(a, b); });
  return ok_status();
}

// out = finish(f(...f(f(in0, in1), in2)...), number of inputs).
template <class C, class F, class G>
void fold_blocks(EvalContext& ctx, Tensor& out, F f, G finish) {
  std::vector<const Dims*> dims;
  for (int i = 0; i < ctx.input_count(); ++i) dims.push_back(&ctx.input(i).dims());
  std::array<C, kBlock> total, next;
  StridedWalk::broadcast(out.dims(), dims)
      .for_each_block(kBlock, [&](int64_t begin, int64_t count, const int64_t* at, const int64_t* strides) {
        load_block(ctx.input(0), at[0], strides[0], count, total.data());
        for (int i = 1; i < ctx.input_count(); ++i) {
          load_block(ctx.input(i), at[i], strides[i], count, next.data());
          for (size_t k = 0; k < static_cast<size_t>(count); ++k) total[k] = f(total[k], next[k]);
        }
        for (size_t k = 0; k < static_cast<size_t>(count); ++k) total[k] = finish(total[k]);
        store_block(out, begin, count, total.data());
      });
}

Result<Tensor*> variadic_output(EvalContext& ctx) {
  Dims dims = ctx.input(0).dims();
  for (int i = 1; i < ctx.input_count(); ++i) dims = TUTTI_TRY(ir::broadcast(dims, ctx.input(i).dims()));
  return ctx.output(0, ctx.input(0).dtype(), std::move(dims));
}

template <class C>
C smaller(C a, C b) {
  if constexpr (std::is_same_v<C, double>)
    return std::isnan(a) || std::isnan(b) ? std::nan("") : std::min(a, b);
  else
    return std::min(a, b);
}
template <class C>
C larger(C a, C b) {
  if constexpr (std::is_same_v<C, double>)
    return std::isnan(a) || std::isnan(b) ? std::nan("") : std::max(a, b);
  else
    return std::max(a, b);
}

Status eval_max(EvalContext& ctx) {
  Tensor* out = TUTTI_TRY(variadic_output(ctx));
  return dispatch_wide(out->dtype(), [&]<class C>() { fold_blocks<C>(ctx, *out, larger<C>, [](C x) { return x; }); });
}

Status eval_min(EvalContext& ctx) {
  Tensor* out = TUTTI_TRY(variadic_output(ctx));
  return dispatch_wide(out->dtype(), [&]<class C>() { fold_blocks<C>(ctx, *out, smaller<C>, [](C x) { return x; }); });
}

Status eval_sum(EvalContext& ctx) {
  fold_blocks<double>(ctx, *TUTTI_TRY(variadic_output(ctx)), std::plus<double>(), [](double x) { return x; });
  return ok_status();
}

Status eval_mean(EvalContext& ctx) {
  const double count = ctx.input_count();
  fold_blocks<double>(ctx, *TUTTI_TRY(variadic_output(ctx)), std::plus<double>(),
                      [count](double x) { return x / count; });
  return ok_status();
}

Status infer_clip(InferContext& ctx) {
  TUTTI_TRY(expect_kind(ctx, 0, is_arithmetic, "a number"));
  for (int i = 1; i < 3; ++i) {
    TUTTI_TRY(expect_same_dtype(ctx, 0, i));
    if (ctx.has_input(i) && ctx.shape(i) &&
        !(ctx.shape(i)->empty() || (ctx.shape(i)->size() == 1 && ctx.shape(i)->front().is(1))))
      return make_error(Code::kInvalidModel, "input {} has shape {}; expected a scalar", i,
                        ir::shape_text(*ctx.shape(i)));
  }
  return infer_like_first(ctx);
}

template <class C>
void clip(EvalContext& ctx, Tensor& out) {
  C low{}, high{};
  const bool has_low = ctx.has_input(1) && ctx.input(1).size() == 1,
             has_high = ctx.has_input(2) && ctx.input(2).size() == 1;
  if (has_low) load_block(ctx.input(1), 0, 1, 1, &low);
  if (has_high) load_block(ctx.input(2), 0, 1, 1, &high);
  map_blocks<C, C>(ctx.input(0), out, [&](C x) {  // the upper limit wins when they cross; NaN stays
    if (has_low && x < low) x = low;
    if (has_high && x > high) x = high;
    return x;
  });
}

Status eval_clip(EvalContext& ctx) {
  Tensor* out = TUTTI_TRY(ctx.output(0, ctx.input(0).dtype(), ctx.input(0).dims()));
  return dispatch_wide(out->dtype(), [&]<class C>() { clip<C>(ctx, *out); });
}

// Where on shapes: each condition known, both branches known.
void propagate_where(InferContext& ctx) {
  const auto condition = ctx.ints_value(0);
  const auto yes = ctx.dims_value(1), no = ctx.dims_value(2);
  if (!condition || !yes || !no) return;
  const size_t count = std::max({condition->size(), yes->size(), no->size()});
  std::vector<Dim> out;
  for (size_t i = 0; i < count; ++i) {
    const auto pick = [i](const auto& list) { return list.size() == 1 ? size_t{0} : i; };
    if (pick(*condition) >= condition->size() || pick(*yes) >= yes->size() || pick(*no) >= no->size()) return;
    out.push_back((*condition)[pick(*condition)] != 0 ? (*yes)[pick(*yes)] : (*no)[pick(*no)]);
  }
  ctx.set_dims_value(0, std::move(out));
}

Status infer_where(InferContext& ctx) {
  TUTTI_TRY(expect_dtype(ctx, 0, {DType::kBool}));
  TUTTI_TRY(expect_same_dtype(ctx, 1, 2));
  ctx.set_output(0, ir::ValueType::tensor(ctx.dtype(1), TUTTI_TRY(broadcast_inputs(ctx, 0, 2))));
  propagate_where(ctx);
  return ok_status();
}

Status eval_where(EvalContext& ctx) {
  const Tensor &condition = ctx.input(0), &yes = ctx.input(1), &no = ctx.input(2);
  const Dims dims = TUTTI_TRY(ir::broadcast(TUTTI_TRY(ir::broadcast(condition.dims(), yes.dims())), no.dims()));
  Tensor* out = TUTTI_TRY(ctx.output(0, yes.dtype(), dims));
  const auto* choose = static_cast<const uint8_t*>(condition.raw());
  StridedWalk::broadcast(dims, {&condition.dims(), &yes.dims(), &no.dims()})
      .for_each_run([&](int64_t begin, int64_t count, const int64_t* at, const int64_t* strides) {
        for (int64_t k = 0; k < count;) {  // runs of one condition
          const bool first = choose[at[0] + k * strides[0]] != 0;
          int64_t end = k + 1;
          while (end < count && (choose[at[0] + end * strides[0]] != 0) == first) ++end;
          const int source = first ? 1 : 2;
          copy_run(*out, begin + k, ctx.input(source), at[source] + k * strides[source], strides[source], end - k);
          k = end;
        }
      });
  return ok_status();
}

Status infer_identity(InferContext& ctx) {
  if (auto value = ctx.dims_value(0)) ctx.set_dims_value(0, *std::move(value));
  return infer_like_first(ctx);
}

Status eval_identity(EvalContext& ctx) {
  ctx.set_output(0, ctx.datum(0));
  return ok_status();
}

Status infer_bias_gelu(InferContext& ctx) {
  TUTTI_TRY(expect_kind(ctx, 0, ir::is_compute_float, "float32, float64, float16 or bfloat16"));
  TUTTI_TRY(expect_same_dtype(ctx, 0, 1));
  TUTTI_TRY(expect_rank(ctx, 1, 1));
  TUTTI_TRY(broadcast_inputs(ctx, 0, ctx.has_input(1) ? 1 : 0));
  return infer_like_first(ctx);
}

template <auto F>
Status eval_bias_gelu(EvalContext& ctx) {
  if (ctx.has_input(1) && TUTTI_TRY(ir::broadcast(ctx.input(0).dims(), ctx.input(1).dims())) != ctx.input(0).dims())
    return make_error(Code::kInvalidInput, "bias is {}; expected one that broadcasts to the input {}",
                      ctx.input(1).type_text(), ctx.input(0).type_text());
  Tensor* out = TUTTI_TRY(ctx.output(0, ctx.input(0).dtype(), ctx.input(0).dims()));
  if (!ctx.has_input(1))
    map_blocks<double, double>(ctx.input(0), *out, F);
  else
    zip_blocks<double, double, double>(ctx.input(0), ctx.input(1), *out,
                                       [](double x, double bias) { return F(x + bias); });
  return ok_status();
}

double gelu_erf(double x) { return 0.5 * x * (1 + std::erf(x * 0.70710678118654752440)); }
double gelu_tanh(double x) { return 0.5 * x * (1 + std::tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x))); }

constexpr OpDef variadic(std::string_view name, Status (*infer)(InferContext&), Status (*eval)(EvalContext&),
                         Tolerance tolerance) {
  return {.name = name,
          .min_inputs = 1,
          .max_inputs = ir::kAnyCount,
          .infer = infer,
          .eval = eval,
          .tolerance = tolerance,
          .traits = ir::kPointwise};
}

}  // namespace

const OpDef kMax = variadic("Max", infer_extreme<Dim::max>, eval_max, Tolerance::kExact);
const OpDef kMin = variadic("Min", infer_extreme<Dim::min>, eval_min, Tolerance::kExact);
const OpDef kSum = variadic("Sum", infer_floats, eval_sum, Tolerance::kRounding);
const OpDef kMean = variadic("Mean", infer_floats, eval_mean, Tolerance::kRounding);

const OpDef kClip{.name = "Clip",
                  .min_inputs = 1,
                  .max_inputs = 3,
                  .infer = infer_clip,
                  .eval = eval_clip,
                  .tolerance = Tolerance::kExact,
                  .traits = ir::kPointwise};
const OpDef kWhere{.name = "Where",
                   .min_inputs = 3,
                   .max_inputs = 3,
                   .infer = infer_where,
                   .eval = eval_where,
                   .tolerance = Tolerance::kExact,
                   .traits = ir::kPointwise};
const OpDef kIdentity{.name = "Identity",
                      .min_inputs = 1,
                      .max_inputs = 1,
                      .infer = infer_identity,
                      .eval = eval_identity,
                      .tolerance = Tolerance::kExact,
                      .traits = ir::kPointwise | ir::kView};
const OpDef kBiasGelu{.name = "BiasGelu",
                      .min_inputs = 2,
                      .max_inputs = 2,
                      .infer = infer_bias_gelu,
                      .eval = eval_bias_gelu<gelu_erf>,
                      .tolerance = Tolerance::kApproximate,
                      .traits = ir::kPointwise};
const OpDef kFastGelu{.name = "FastGelu",
                      .min_inputs = 1,
                      .max_inputs = 2,
                      .infer = infer_bias_gelu,
                      .eval = eval_bias_gelu<gelu_tanh>,
                      .tolerance = Tolerance::kApproximate,
                      .traits = ir::kPointwise};

}  // namespace tutti::ops
