#include "ops/loss.h"

#include <algorithm>
#include <cmath>

namespace tutti::ops {
namespace {

using ir::EvalContext;
using ir::InferContext;
using ir::Shape;
using ir::Tensor;

Status check_inputs(const InferContext& context) {
  if (!ir::is_compute_float(context.dtype(0)))
    return make_error(Code::kInvalidModel, "input 0: found {}, expected a float type", dtype_name(context.dtype(0)));
  if (!ir::is_integer(context.dtype(1)))
    return make_error(Code::kInvalidModel, "input 1: found {}, expected an integer type", dtype_name(context.dtype(1)));
  const auto &x = context.shape(0), &target = context.shape(1);
  if (x && x->size() < 2)
    return make_error(Code::kInvalidModel, "input 0: found rank {}, expected 2 or more", x->size());
  if (x && target && target->size() + 1 != x->size())
    return make_error(Code::kInvalidModel, "input 1: found rank {}, expected {}", target->size(), x->size() - 1);
  return {};
}

Status infer_loss(InferContext& context) {
  TUTTI_TRY(check_inputs(context));
  if (context.attrs<LossAttrs>().reduction != LossReduction::kNone)
    context.set_output(0, context.dtype(0), Shape{});
  else
    context.set_output(0, ir::ValueType::tensor(context.dtype(0), context.shape(1)));
  context.set_output(1, context.input(0));
  return {};
}

// x as [batch, classes, inner].
struct Extents {
  int64_t batch, classes, inner;
};

Result<Extents> extents_of(const EvalContext& context) {
  const Tensor &x = context.input(0), &target = context.input(1);
  Extents e{x.rank() > 0 ? x.dim(0) : 0, x.rank() > 1 ? x.dim(1) : 0, 1};
  for (int64_t i = 2; i < x.rank(); ++i) e.inner *= x.dim(i);
  if (x.rank() < 2 || target.size() != e.batch * e.inner)
    return make_error(Code::kInvalidInput, "target: found {}, expected one class for each position of {}",
                      target.type_text(), x.type_text());
  if (context.has_input(2) && context.input(2).size() != e.classes)
    return make_error(Code::kInvalidInput, "weight: found {}, expected {} numbers", context.input(2).type_text(),
                      e.classes);
  return e;
}

// The negative log-likelihood of log-probabilities given as `log_probability(flat index)`.
template <class LogProbability>
Status eval_nll(EvalContext& context, const Extents& e, LogProbability log_probability) {
  const auto& attrs = context.attrs<LossAttrs>();
  const Tensor& target = context.input(1);
  const bool each = attrs.reduction == LossReduction::kNone;
  Tensor& loss = *TUTTI_TRY(context.output(0, context.input(0).dtype(), each ? target.dims() : ir::Dims{}));
  double sum = 0, weight_sum = 0;
  for (int64_t i = 0; i < target.size(); ++i) {
    const int64_t label = target.get_int(i);
    const bool ignored = attrs.ignore_index == label;
    if (!ignored && (label < 0 || label >= e.classes))
      return make_error(Code::kInvalidInput, "target: found class {}, expected 0 to {}", label, e.classes - 1);
    const double weight = ignored ? 0 : context.has_input(2) ? context.input(2).get_double(label) : 1;
    const double value =
        ignored ? 0 : -weight * log_probability((i / e.inner * e.classes + label) * e.inner + i % e.inner);
    if (each) loss.set_double(i, value);
    sum += value;
    weight_sum += weight;
  }
  if (!each) loss.set_double(0, attrs.reduction == LossReduction::kMean ? sum / weight_sum : sum);
  return {};
}

Status eval_negative_log_likelihood(EvalContext& context) {
  const Extents e = TUTTI_TRY(extents_of(context));
  const Tensor& x = context.input(0);
  return eval_nll(context, e, [&](int64_t i) { return x.get_double(i); });
}

std::vector<double> log_softmax(const Tensor& x, const Extents& e) {
  std::vector<double> out(static_cast<size_t>(x.size()));
  for (int64_t row = 0; row < e.batch * e.inner; ++row) {
    const int64_t first = row / e.inner * e.classes * e.inner + row % e.inner;
    double top = -INFINITY, sum = 0;
    for (int64_t c = 0; c < e.classes; ++c) top = std::max(top, x.get_double(first + c * e.inner));
    for (int64_t c = 0; c < e.classes; ++c) sum += std::exp(x.get_double(first + c * e.inner) - top);
    for (int64_t c = 0; c < e.classes; ++c)
      out[static_cast<size_t>(first + c * e.inner)] = x.get_double(first + c * e.inner) - top - std::log(sum);
  }
  return out;
}

Status eval_softmax_cross_entropy(EvalContext& context) {
  const Extents e = TUTTI_TRY(extents_of(context));
  const Tensor& x = context.input(0);
  const std::vector<double> logs = log_softmax(x, e);
  if (context.wants_output(1)) {
    Tensor& log_prob = *TUTTI_TRY(context.output(1, x.dtype(), x.dims()));
    for (int64_t i = 0; i < x.size(); ++i) log_prob.set_double(i, logs[static_cast<size_t>(i)]);
  }
  return eval_nll(context, e, [&](int64_t i) { return logs[static_cast<size_t>(i)]; });
}

}  // namespace

const ir::OpDef kNegativeLogLikelihoodLoss{.name = "NegativeLogLikelihoodLoss",
                                           .min_inputs = 2,
                                           .max_inputs = 3,
                                           .make_attrs = ir::make_attrs<LossAttrs>,
                                           .infer = infer_loss,
                                           .eval = eval_negative_log_likelihood};
const ir::OpDef kSoftmaxCrossEntropyLoss{.name = "SoftmaxCrossEntropyLoss",
                                         .min_inputs = 2,
                                         .max_inputs = 3,
                                         .max_outputs = 2,
                                         .make_attrs = ir::make_attrs<LossAttrs>,
                                         .infer = infer_loss,
                                         .eval = eval_softmax_cross_entropy,
                                         .tolerance = ir::Tolerance::kApproximate};

}  // namespace tutti::ops
