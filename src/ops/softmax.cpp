#include "ops/softmax.h"

#include <algorithm>
#include <cmath>

#include "ops/compute_view.h"
#include "ops/tensor_rules.h"

namespace tutti::ops {

using namespace ir;

namespace {

template <class A>
Status infer_along_axis(InferContext& context) {
  TUTTI_TRY(require_float(context, 0, "input"));
  if (context.shape(0))
    TUTTI_TRY(normalize_axis(context.attrs<A>().axis, context.input(0).rank()).with_context("attribute axis"));
  set_like_input(context);
  return ok_status();
}

// Calls body(source row, destination row, stride, length) for every line along the axis.
template <class A, class Body>
Status for_each_line(EvalContext& context, Body&& body) {
  const Tensor& x = context.input(0);
  const int64_t axis = TUTTI_TRY(normalize_axis(context.attrs<A>().axis, x.rank()));
  Tensor* y = TUTTI_TRY(context.output(0, x.dtype(), x.dims()));
  const AxisSplit split = split_at(x.dims(), axis);
  with_compute_type(x.dtype(), [&]<class C>() {
    const ComputeView<C> view(x);
    ComputeBuffer<C> buffer(y);
    if (split.extent > 0)
      for (int64_t o = 0; o < split.outer; ++o)
        for (int64_t i = 0; i < split.inner; ++i) {
          const int64_t start = o * split.extent * split.inner + i;
          body(view.data() + start, buffer.data() + start, split.inner, split.extent);
        }
    buffer.store();
  });
  return ok_status();
}

template <class C>
C line_max(const C* x, int64_t stride, int64_t length) {
  C best = x[0];
  for (int64_t k = 1; k < length; ++k) best = std::max(best, x[k * stride]);
  return best;
}

Status eval_softmax(EvalContext& context) {
  return for_each_line<SoftmaxAttrs>(context, []<class C>(const C* x, C* y, int64_t stride, int64_t length) {
    const C max = line_max(x, stride, length);
    double sum = 0;
    for (int64_t k = 0; k < length; ++k) {
      y[k * stride] = std::exp(x[k * stride] - max);
      sum += static_cast<double>(y[k * stride]);
    }
    for (int64_t k = 0; k < length; ++k) y[k * stride] = static_cast<C>(static_cast<double>(y[k * stride]) / sum);
  });
}

Status eval_log_softmax(EvalContext& context) {
  return for_each_line<LogSoftmaxAttrs>(context, []<class C>(const C* x, C* y, int64_t stride, int64_t length) {
    const C max = line_max(x, stride, length);
    double sum = 0;
    for (int64_t k = 0; k < length; ++k) sum += std::exp(static_cast<double>(x[k * stride] - max));
    const double log_sum = std::log(sum);
    for (int64_t k = 0; k < length; ++k)
      y[k * stride] = static_cast<C>(static_cast<double>(x[k * stride] - max) - log_sum);
  });
}

Status eval_hardmax(EvalContext& context) {
  return for_each_line<HardmaxAttrs>(context, []<class C>(const C* x, C* y, int64_t stride, int64_t length) {
    int64_t best = 0;
    for (int64_t k = 1; k < length; ++k)
      if (x[k * stride] > x[best * stride]) best = k;
    for (int64_t k = 0; k < length; ++k) y[k * stride] = C(k == best);
  });
}

}  // namespace

const OpDef kSoftmax{.name = "Softmax",
                     .min_inputs = 1,
                     .max_inputs = 1,
                     .make_attrs = make_attrs<SoftmaxAttrs>,
                     .infer = infer_along_axis<SoftmaxAttrs>,
                     .eval = eval_softmax,
                     .tolerance = Tolerance::kApproximate};
const OpDef kLogSoftmax{.name = "LogSoftmax",
                        .min_inputs = 1,
                        .max_inputs = 1,
                        .make_attrs = make_attrs<LogSoftmaxAttrs>,
                        .infer = infer_along_axis<LogSoftmaxAttrs>,
                        .eval = eval_log_softmax,
                        .tolerance = Tolerance::kApproximate};
const OpDef kHardmax{.name = "Hardmax",
                     .min_inputs = 1,
                     .max_inputs = 1,
                     .make_attrs = make_attrs<HardmaxAttrs>,
                     .infer = infer_along_axis<HardmaxAttrs>,
                     .eval = eval_hardmax,
                     .tolerance = Tolerance::kExact};

}  // namespace tutti::ops
