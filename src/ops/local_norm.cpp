#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/norm.h"

namespace tutti::ops {
namespace {

using ir::EvalContext;
using ir::InferContext;
using ir::Tensor;

Status check_float(const InferContext& context) {
  if (!ir::is_compute_float(context.dtype(0)))
    return make_error(Code::kInvalidModel, "input 0: found {}, expected a float type", dtype_name(context.dtype(0)));
  return {};
}

Status infer_lp(InferContext& context) {
  TUTTI_TRY(check_float(context));
  const auto& attrs = context.attrs<LpNormalizationAttrs>();
  if (attrs.p != 1 && attrs.p != 2) return make_error(Code::kInvalidModel, "p: found {}, expected 1 or 2", attrs.p);
  if (context.shape(0)) TUTTI_TRY(ir::normalize_axis(attrs.axis, static_cast<int64_t>(context.shape(0)->size())));
  context.set_output(0, context.input(0));
  return {};
}

Status eval_lp(EvalContext& context) {
  const auto& attrs = context.attrs<LpNormalizationAttrs>();
  const Tensor& x = context.input(0);
  const int64_t axis = TUTTI_TRY(ir::normalize_axis(attrs.axis, x.rank())), extent = x.dim(axis);
  int64_t inner = 1;
  for (int64_t i = axis + 1; i < x.rank(); ++i) inner *= x.dim(i);
  Tensor& y = *TUTTI_TRY(context.output(0, x.dtype(), x.dims()));
  for (int64_t line = 0; line < (extent > 0 ? x.size() / extent : 0); ++line) {
    const int64_t first = line / inner * extent * inner + line % inner;
    double sum = 0;
    for (int64_t k = 0; k < extent; ++k) {
      const double v = x.get_double(first + k * inner);
      sum += attrs.p == 1 ? std::fabs(v) : v * v;
    }
    const double norm = attrs.p == 1 ? sum : std::sqrt(sum);
    for (int64_t k = 0; k < extent; ++k)
      y.set_double(first + k * inner, norm == 0 ? 0 : x.get_double(first + k * inner) / norm);
  }
  return {};
}

Status infer_lrn(InferContext& context) {
  TUTTI_TRY(check_float(context));
  if (context.attrs<LrnAttrs>().size < 1)
    return make_error(Code::kInvalidModel, "size: found {}, expected 1 or more", context.attrs<LrnAttrs>().size);
  if (context.shape(0) && context.shape(0)->size() < 2)
    return make_error(Code::kInvalidModel, "input 0: found rank {}, expected 2 or more", context.shape(0)->size());
  context.set_output(0, context.input(0));
  return {};
}

Status eval_lrn(EvalContext& context) {
  const auto& attrs = context.attrs<LrnAttrs>();
  const Tensor& x = context.input(0);
  if (x.rank() < 2) return make_error(Code::kInvalidInput, "input 0: found {}, expected rank 2 or more", x.type_text());
  const int64_t channels = x.dim(1), before = (attrs.size - 1) / 2, after = attrs.size - 1 - before;
  int64_t inner = 1;
  for (int64_t i = 2; i < x.rank(); ++i) inner *= x.dim(i);
  Tensor& y = *TUTTI_TRY(context.output(0, x.dtype(), x.dims()));
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t c = i / inner % channels;
    double sum = 0;
    for (int64_t k = std::max<int64_t>(c - before, 0); k <= std::min(c + std::min(after, channels), channels - 1);
         ++k) {
      const double v = x.get_double(i + (k - c) * inner);
      sum += v * v;
    }
    y.set_double(
        i, x.get_double(i) / std::pow(attrs.bias + attrs.alpha / static_cast<double>(attrs.size) * sum, attrs.beta));
  }
  return {};
}

Status infer_mvn(InferContext& context) {
  TUTTI_TRY(check_float(context));
  if (context.shape(0))
    TUTTI_TRY(ir::normalize_axes(context.attrs<MeanVarianceNormalizationAttrs>().axes,
                                 static_cast<int64_t>(context.shape(0)->size())));
  context.set_output(0, context.input(0));
  return {};
}

// Elements with equal positions on the axes that stay belong to one group.
std::vector<int64_t> group_of_elements(const Tensor& x, const std::vector<int64_t>& axes) {
  const ir::Dims strides = ir::row_major_strides(x.dims());
  std::vector<int64_t> groups(static_cast<size_t>(x.size()));
  for (int64_t i = 0; i < x.size(); ++i) {
    int64_t group = 0;
    for (int64_t axis = 0; axis < x.rank(); ++axis)
      if (std::find(axes.begin(), axes.end(), axis) == axes.end())
        group = group * x.dim(axis) + i / strides[static_cast<size_t>(axis)] % x.dim(axis);
    groups[static_cast<size_t>(i)] = group;
  }
  return groups;
}

Status eval_mvn(EvalContext& context) {
  const Tensor& x = context.input(0);
  const auto axes = TUTTI_TRY(ir::normalize_axes(context.attrs<MeanVarianceNormalizationAttrs>().axes, x.rank()));
  const std::vector<int64_t> groups = group_of_elements(x, axes);
  struct Sums {
    double count = 0, sum = 0, squares = 0;
  };
  std::vector<Sums> sums(groups.empty() ? 0 : static_cast<size_t>(*std::max_element(groups.begin(), groups.end()) + 1));
  for (int64_t i = 0; i < x.size(); ++i) {
    Sums& s = sums[static_cast<size_t>(groups[static_cast<size_t>(i)])];
    s.count += 1;
    s.sum += x.get_double(i);
  }
  for (int64_t i = 0; i < x.size(); ++i) {
    Sums& s = sums[static_cast<size_t>(groups[static_cast<size_t>(i)])];
    s.squares += std::pow(x.get_double(i) - s.sum / s.count, 2);
  }
  Tensor& y = *TUTTI_TRY(context.output(0, x.dtype(), x.dims()));
  for (int64_t i = 0; i < x.size(); ++i) {
    const Sums& s = sums[static_cast<size_t>(groups[static_cast<size_t>(i)])];
    y.set_double(i, (x.get_double(i) - s.sum / s.count) / (std::sqrt(s.squares / s.count) + 1e-9));
  }
  return {};
}

}  // namespace

const ir::OpDef kLpNormalization{.name = "LpNormalization",
                                 .min_inputs = 1,
                                 .max_inputs = 1,
                                 .make_attrs = ir::make_attrs<LpNormalizationAttrs>,
                                 .infer = infer_lp,
                                 .eval = eval_lp};
const ir::OpDef kLRN{.name = "LRN",
                     .min_inputs = 1,
                     .max_inputs = 1,
                     .make_attrs = ir::make_attrs<LrnAttrs>,
                     .infer = infer_lrn,
                     .eval = eval_lrn,
                     .tolerance = ir::Tolerance::kApproximate};
const ir::OpDef kMeanVarianceNormalization{.name = "MeanVarianceNormalization",
                                           .min_inputs = 1,
                                           .max_inputs = 1,
                                           .make_attrs = ir::make_attrs<MeanVarianceNormalizationAttrs>,
                                           .infer = infer_mvn,
                                           .eval = eval_mvn};

}  // namespace tutti::ops
