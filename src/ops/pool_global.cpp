#include <cmath>
#include <limits>

#include "ops/compute_view.h"
#include "ops/pool.h"
#include "ops/tensor_rules.h"

namespace tutti::ops {

using namespace ir;

namespace {

Status infer_global_pool(InferContext& context) {
  TUTTI_TRY(require_float(context, 0, "X"));
  const auto& x = context.shape(0);
  if (!x) {
    context.set_output_unranked(0, context.dtype(0));
    return ok_status();
  }
  if (x->size() < 2)
    return make_error(Code::kInvalidModel, "X has shape {}, expected [batch, channels, spatial...]", shape_text(*x));
  Shape out(x->size(), Dim(1));
  out[0] = (*x)[0];
  out[1] = (*x)[1];
  context.set_output(0, context.dtype(0), std::move(out));
  return ok_status();
}

// Each image's elements folded by `combine` from `start`, then `finish(total, count)`.
template <class Combine, class Finish>
Status eval_global(EvalContext& context, double start, Combine&& combine, Finish&& finish) {
  const Tensor& x = context.input(0);
  TUTTI_TRY(require_rank_at_least(x, 2, "X"));
  Dims out_dims(static_cast<size_t>(x.rank()), 1);
  out_dims[0] = x.dim(0);
  out_dims[1] = x.dim(1);
  Tensor* y = TUTTI_TRY(context.output(0, x.dtype(), out_dims));
  const int64_t images = x.dim(0) * x.dim(1), size = images == 0 ? 0 : x.size() / images;
  with_compute_type(x.dtype(), [&]<class C>() {
    const ComputeView<C> view(x);
    ComputeBuffer<C> buffer(y);
    for (int64_t i = 0; i < images; ++i) {
      double total = start;
      for (int64_t p = 0; p < size; ++p) total = combine(total, static_cast<double>(view[i * size + p]));
      buffer.data()[i] = static_cast<C>(finish(total, size));
    }
    buffer.store();
  });
  return ok_status();
}

Status eval_global_average(EvalContext& context) {
  return eval_global(
      context, 0, [](double a, double b) { return a + b; },
      [](double total, int64_t n) { return total / static_cast<double>(n); });
}

Status eval_global_max(EvalContext& context) {
  return eval_global(
      context, -std::numeric_limits<double>::infinity(),
      [](double a, double b) { return std::isnan(a) || a > b ? a : b; }, [](double total, int64_t) { return total; });
}

Status infer_global_lp(InferContext& context) {
  const int64_t p = context.attrs<GlobalLpPoolAttrs>().p;
  if (p < 1) return make_error(Code::kInvalidModel, "attribute p is {}, expected 1 or more", p);
  return infer_global_pool(context);
}

Status eval_global_lp(EvalContext& context) {
  const auto p = static_cast<double>(context.attrs<GlobalLpPoolAttrs>().p);
  return eval_global(
      context, 0, [p](double a, double b) { return a + std::pow(std::fabs(b), p); },
      [p](double total, int64_t) { return std::pow(total, 1 / p); });
}

}  // namespace

const OpDef kGlobalAveragePool{.name = "GlobalAveragePool",
                               .min_inputs = 1,
                               .max_inputs = 1,
                               .infer = infer_global_pool,
                               .eval = eval_global_average};
const OpDef kGlobalMaxPool{.name = "GlobalMaxPool",
                           .min_inputs = 1,
                           .max_inputs = 1,
                           .infer = infer_global_pool,
                           .eval = eval_global_max,
                           .tolerance = Tolerance::kExact};
const OpDef kGlobalLpPool{.name = "GlobalLpPool",
                          .min_inputs = 1,
                          .max_inputs = 1,
                          .make_attrs = make_attrs<GlobalLpPoolAttrs>,
                          .infer = infer_global_lp,
                          .eval = eval_global_lp,
                          .tolerance = Tolerance::kApproximate};

}  // namespace tutti::ops
