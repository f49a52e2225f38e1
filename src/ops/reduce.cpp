#include "ops/reduce.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "ops/broadcast.h"
#include "ops/dispatch.h"
#include "ops/elements.h"
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
using ir::Tolerance;

// --- shapes

// Which axes go; nothing reduced at all when `noop`.
Result<std::vector<bool>> reduced_axes(const std::optional<std::vector<int64_t>>& axes, int64_t rank,
                                       bool noop_with_empty) {
  std::vector<bool> out(static_cast<size_t>(rank), false);
  if (!axes || axes->empty()) {
    if (!noop_with_empty) out.assign(out.size(), true);
    return out;
  }
  for (int64_t axis : TUTTI_TRY(ir::normalize_axes(*axes, rank))) out[static_cast<size_t>(axis)] = true;
  return out;
}

template <class D>
std::vector<D> reduced_shape(const std::vector<D>& in, const std::vector<bool>& reduced, bool keepdims) {
  std::vector<D> out;
  for (size_t i = 0; i < in.size(); ++i) {
    if (!reduced[i])
      out.push_back(in[i]);
    else if (keepdims)
      out.push_back(D(1));
  }
  return out;
}

Status infer_reduce(InferContext& ctx, bool (*accepts)(DType), std::string_view kind) {
  TUTTI_TRY(expect_kind(ctx, 0, accepts, kind));
  TUTTI_TRY(expect_dtype(ctx, 1, {DType::kInt64}));
  TUTTI_TRY(expect_rank(ctx, 1, 1));
  const auto& attrs = ctx.attrs<ReduceAttrs>();
  const auto axes = ctx.ints_value(1);
  if (!ctx.shape(0)) {
    ctx.set_output_unranked(0, ctx.dtype(0));
    return ok_status();
  }
  if (ctx.has_input(1) && !axes) {
    const auto count = vector_length(ctx, 1);
    if (attrs.keepdims)
      ctx.set_output(0, ctx.dtype(0), fresh_shape(ctx, ctx.input(0).rank(), "reduced"));
    else if (count && *count > 0 && *count <= ctx.input(0).rank())
      ctx.set_output(0, ctx.dtype(0), fresh_shape(ctx, ctx.input(0).rank() - *count, "reduced"));
    else
      ctx.set_output_unranked(0, ctx.dtype(0));
    return ok_status();
  }
  const auto reduced = TUTTI_TRY(reduced_axes(axes, ctx.input(0).rank(), attrs.noop_with_empty_axes));
  ctx.set_output(0, ctx.dtype(0), reduced_shape(*ctx.shape(0), reduced, attrs.keepdims));
  return ok_status();
}

Status infer_reduce_number(InferContext& ctx) { return infer_reduce(ctx, is_arithmetic, "a number"); }
Status infer_reduce_ordered(InferContext& ctx) {
  return infer_reduce(
      ctx, [](DType d) { return is_arithmetic(d) || d == DType::kBool; }, "a number or bool");
}
// Shape arithmetic over a vector of dimensions.
bool reduces_vector(const InferContext& ctx) {
  const bool noop = ctx.attrs<ReduceAttrs>().noop_with_empty_axes && (!ctx.has_input(1) || vector_length(ctx, 1) != 1);
  return ctx.shape(0) && ctx.shape(0)->size() == 1 && !noop;
}
Status infer_reduce_prod(InferContext& ctx) {
  TUTTI_TRY(infer_reduce_number(ctx));
  const auto value = ctx.dims_value(0);
  if (reduces_vector(ctx) && value) ctx.set_dims_value(0, {product(*value, 0, value->size())});
  return ok_status();
}
Status infer_reduce_sum(InferContext& ctx) {
  TUTTI_TRY(infer_reduce_number(ctx));
  const auto value = ctx.dims_value(0);
  if (!value || !reduces_vector(ctx)) return ok_status();
  Dim sum = 0;
  for (const Dim& d : *value) sum = sum + d;
  ctx.set_dims_value(0, {sum});
  return ok_status();
}

// --- folding

// One fold: start value, step, and what becomes of the total of `count` elements. All in the wide type C.
template <class C>
struct Fold {
  C start;
  C (*step)(C total, C x);
  C (*finish)(C total, int64_t count);
};

template <class C>
C keep(C total, int64_t) {
  return total;
}

// The walk visits kept axes outside and reduced axes inside, so that one total is live at a time.
struct ReduceWalk {
  Dims kept_dims, kept_strides, inner_dims, inner_strides;
  ReduceWalk(const Dims& dims, const std::vector<bool>& reduced) {
    const Dims strides = ir::row_major_strides(dims);
    for (size_t i = 0; i < dims.size(); ++i) {
      (reduced[i] ? inner_dims : kept_dims).push_back(dims[i]);
      (reduced[i] ? inner_strides : kept_strides).push_back(strides[i]);
    }
  }
};

template <class C>
C fold_at(const Tensor& in, const StridedWalk& inner, int64_t base, const Fold<C>& fold) {
  C total = fold.start;
  std::array<C, kBlock> x;
  inner.for_each_block(kBlock, [&](int64_t, int64_t count, const int64_t* at, const int64_t* strides) {
    load_block(in, base + at[0], strides[0], count, x.data());
    for (size_t k = 0; k < static_cast<size_t>(count); ++k) total = fold.step(total, x[k]);
  });
  return total;
}

template <class F>
void for_each_total(const ReduceWalk& walk, F f) {
  const StridedWalk inner(walk.inner_dims, {walk.inner_strides});
  StridedWalk(walk.kept_dims, {walk.kept_strides})
      .for_each_run([&](int64_t begin, int64_t count, const int64_t* at, const int64_t* strides) {
        for (int64_t k = 0; k < count; ++k) f(begin + k, at[0] + k * strides[0], inner);
      });
}

struct Prepared {
  Tensor* out;
  ReduceWalk walk;
};

Result<Prepared> prepare(EvalContext& ctx) {
  const auto& attrs = ctx.attrs<ReduceAttrs>();
  std::optional<std::vector<int64_t>> axes;
  if (ctx.has_input(1)) axes = ctx.input(1).to_int64();
  const Tensor& in = ctx.input(0);
  const auto reduced = TUTTI_TRY(reduced_axes(axes, in.rank(), attrs.noop_with_empty_axes));
  Tensor* out = TUTTI_TRY(ctx.output(0, in.dtype(), reduced_shape(in.dims(), reduced, attrs.keepdims)));
  return Prepared{out, ReduceWalk(in.dims(), reduced)};
}

template <class C>
void run_fold(const Tensor& in, Prepared& prepared, const Fold<C>& fold) {
  const int64_t count = ir::element_count(prepared.walk.inner_dims);
  for_each_total(prepared.walk, [&](int64_t to, int64_t base, const StridedWalk& inner) {
    const C total = fold.finish(fold_at(in, inner, base, fold), count);
    store_block(*prepared.out, to, 1, &total);
  });
}

// Sums wrap in integers, without the undefined overflow of signed ones.
template <class C>
C plus(C a, C b) {
  if constexpr (std::is_same_v<C, double>)
    return a + b;
  else
    return static_cast<C>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
template <class C>
C times(C a, C b) {
  if constexpr (std::is_same_v<C, double>)
    return a * b;
  else
    return static_cast<C>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
template <class C>
C magnitude(C x) {
  if constexpr (std::is_same_v<C, uint64_t>)
    return x;
  else
    return x < 0 ? times(x, C(-1)) : x;
}
template <class C>
C through_double(C total, double (*f)(double)) {
  return static_cast<C>(f(static_cast<double>(total)));
}

template <class C>
Fold<C> sum_fold() {
  return {C(0), [](C t, C x) { return plus(t, x); }, keep<C>};
}
template <class C>
Fold<C> prod_fold() {
  return {C(1), [](C t, C x) { return times(t, x); }, keep<C>};
}
template <class C>
Fold<C> l1_fold() {
  return {C(0), [](C t, C x) { return plus(t, magnitude(x)); }, keep<C>};
}
template <class C>
Fold<C> square_fold() {
  return {C(0), [](C t, C x) { return plus(t, times(x, x)); }, keep<C>};
}
template <class C>
Fold<C> l2_fold() {
  Fold<C> fold = square_fold<C>();
  fold.finish = [](C t, int64_t) { return through_double(t, [](double x) { return std::sqrt(x); }); };
  return fold;
}
template <class C>
Fold<C> log_sum_fold() {
  Fold<C> fold = sum_fold<C>();
  fold.finish = [](C t, int64_t) { return through_double(t, [](double x) { return std::log(x); }); };
  return fold;
}
template <class C>
Fold<C> mean_fold() {
  Fold<C> fold = sum_fold<C>();
  fold.finish = [](C t, int64_t count) -> C {
    if constexpr (std::is_same_v<C, double>)
      return t / static_cast<double>(count);
    else
      return count == 0 ? C(0) : t / static_cast<C>(count);
  };
  return fold;
}

template <auto MakeDouble, auto MakeSigned, auto MakeUnsigned>
Status eval_fold(EvalContext& ctx) {
  Prepared prepared = TUTTI_TRY(prepare(ctx));
  return dispatch_wide(ctx.input(0).dtype(), [&]<class C>() {
    if constexpr (std::is_same_v<C, double>)
      run_fold<C>(ctx.input(0), prepared, MakeDouble());
    else if constexpr (std::is_same_v<C, int64_t>)
      run_fold<C>(ctx.input(0), prepared, MakeSigned());
    else
      run_fold<C>(ctx.input(0), prepared, MakeUnsigned());
  });
}

// The least value of the type: what the maximum of nothing is.
template <class C>
C limit_of(DType dtype, bool lowest) {
  if constexpr (std::is_same_v<C, double>)
    return lowest ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  const int bits = dtype == DType::kBool ? 1 : ir::dtype_bits(dtype);
  if constexpr (std::is_same_v<C, uint64_t>) return lowest ? 0 : ~uint64_t{0} >> (64 - bits);
  const auto top = static_cast<int64_t>(~uint64_t{0} >> (65 - bits));
  return static_cast<C>(lowest ? -top - 1 : top);
}

template <bool kLargest>
Status eval_extreme(EvalContext& ctx) {
  Prepared prepared = TUTTI_TRY(prepare(ctx));
  return dispatch_wide(ctx.input(0).dtype(), [&]<class C>() {
    Fold<C> fold{limit_of<C>(ctx.input(0).dtype(), kLargest), nullptr, keep<C>};
    fold.step = [](C t, C x) -> C {  // NaN wins
      if constexpr (std::is_same_v<C, double>)
        if (std::isnan(t) || std::isnan(x)) return std::numeric_limits<double>::quiet_NaN();
      return (kLargest ? (x > t) : (x < t)) ? x : t;
    };
    run_fold<C>(ctx.input(0), prepared, fold);
  });
}

// Two passes: the maximum first, so that no exponential overflows.
Status eval_log_sum_exp(EvalContext& ctx) {
  Prepared prepared = TUTTI_TRY(prepare(ctx));
  const Tensor& in = ctx.input(0);
  const Fold<double> largest{-std::numeric_limits<double>::infinity(),
                             [](double t, double x) { return std::isnan(x) || x > t ? x : t; }, keep<double>};
  for_each_total(prepared.walk, [&](int64_t to, int64_t base, const StridedWalk& inner) {
    const double top = fold_at(in, inner, base, largest), shift = std::isfinite(top) ? top : 0;
    double total = 0;
    std::array<double, kBlock> x;
    inner.for_each_block(kBlock, [&](int64_t, int64_t count, const int64_t* at, const int64_t* strides) {
      load_block(in, base + at[0], strides[0], count, x.data());
      for (size_t k = 0; k < static_cast<size_t>(count); ++k) total += std::exp(x[k] - shift);
    });
    const double result = shift + std::log(total);
    store_block(*prepared.out, to, 1, &result);
  });
  return ok_status();
}

constexpr OpDef reduce(std::string_view name, Status (*infer)(InferContext&), Status (*eval)(EvalContext&),
                       Tolerance tolerance) {
  return {.name = name,
          .min_inputs = 1,
          .max_inputs = 2,
          .make_attrs = ir::make_attrs<ReduceAttrs>,
          .infer = infer,
          .eval = eval,
          .tolerance = tolerance};
}

}  // namespace

// clang-format off
const OpDef kReduceSum = reduce("ReduceSum", infer_reduce_sum, eval_fold<sum_fold<double>, sum_fold<int64_t>, sum_fold<uint64_t>>, Tolerance::kRounding);
const OpDef kReduceProd = reduce("ReduceProd", infer_reduce_prod, eval_fold<prod_fold<double>, prod_fold<int64_t>, prod_fold<uint64_t>>, Tolerance::kRounding);
const OpDef kReduceMean = reduce("ReduceMean", infer_reduce_number, eval_fold<mean_fold<double>, mean_fold<int64_t>, mean_fold<uint64_t>>, Tolerance::kRounding);
const OpDef kReduceL1 = reduce("ReduceL1", infer_reduce_number, eval_fold<l1_fold<double>, l1_fold<int64_t>, l1_fold<uint64_t>>, Tolerance::kRounding);
const OpDef kReduceL2 = reduce("ReduceL2", infer_reduce_number, eval_fold<l2_fold<double>, l2_fold<int64_t>, l2_fold<uint64_t>>, Tolerance::kRounding);
const OpDef kReduceSumSquare = reduce("ReduceSumSquare", infer_reduce_number, eval_fold<square_fold<double>, square_fold<int64_t>, square_fold<uint64_t>>, Tolerance::kRounding);
const OpDef kReduceLogSum = reduce("ReduceLogSum", infer_reduce_number, eval_fold<log_sum_fold<double>, log_sum_fold<int64_t>, log_sum_fold<uint64_t>>, Tolerance::kApproximate);
const OpDef kReduceLogSumExp = reduce("ReduceLogSumExp", infer_reduce_number, eval_log_sum_exp, Tolerance::kApproximate);
const OpDef kReduceMax = reduce("ReduceMax", infer_reduce_ordered, eval_extreme<true>, Tolerance::kExact);
const OpDef kReduceMin = reduce("ReduceMin", infer_reduce_ordered, eval_extreme<false>, Tolerance::kExact);
// clang-format on

}  // namespace tutti::ops
