#include "ops/norm_layer.h"

#include "ops/compute_view.h"
#include "ops/matmul_core.h"
#include "ops/norm.h"
#include "ops/tensor_rules.h"

namespace tutti::ops {

using namespace ir;

namespace {

// An operand as broadcast to `target`, element by element of the target.
template <class C>
class BroadcastReader {
 public:
  BroadcastReader() = default;
  BroadcastReader(const Tensor& operand, const Dims& target) : view_(operand) {
    const auto lead = target.end() - std::min<ptrdiff_t>(operand.rank(), static_cast<ptrdiff_t>(target.size()));
    if (std::equal(lead, target.end(), operand.dims().begin(), operand.dims().end()))
      period_ = operand.size();
    else
      offsets_ = batch_offsets(operand.dims(), target, 1);
  }
  bool present() const { return view_.present(); }
  double operator()(int64_t i) const {
    return static_cast<double>(view_[period_ > 0 ? i % period_ : offsets_[static_cast<size_t>(i)]]);
  }

 private:
  ComputeView<C> view_;
  int64_t period_ = 0;
  std::vector<int64_t> offsets_;
};

Status check_fits(const Shape& operand, const Shape& x, std::string_view name) {
  bool fits = operand.size() <= x.size();
  for (size_t i = 0; fits && i < operand.size(); ++i) {
    const Dim& dim = operand[operand.size() - 1 - i];
    fits = dim.is(1) || !Dim::never_equal(dim, x[x.size() - 1 - i]);
  }
  if (fits) return ok_status();
  return make_error(Code::kInvalidModel, "{} has shape {}, expected one that broadcasts to X {}", name,
                    shape_text(operand), shape_text(x));
}

Result<DType> stash_dtype(int64_t stash_type) {
  const auto dtype = static_cast<DType>(stash_type);
  if (stash_type > 0 && stash_type < kDTypeCount && is_compute_float(dtype)) return dtype;
  return make_error(Code::kInvalidModel,
                    "attribute stash_type is {}, expected 1 (float32) or another float type's number", stash_type);
}

Shape statistics_shape(const Shape& x, int64_t axis) {
  Shape out = x;
  for (size_t i = static_cast<size_t>(axis); i < out.size(); ++i) out[i] = Dim(1);
  return out;
}

Status infer_layer(InferContext& context, int first_statistic, int last_statistic) {
  const auto& attrs = context.attrs<LayerNormalizationAttrs>();
  TUTTI_TRY(require_float(context, 0, "X"));
  TUTTI_TRY(require_float(context, 1, "scale"));
  const DType stash = TUTTI_TRY(stash_dtype(attrs.stash_type));
  std::optional<Shape> statistics;
  if (context.shape(0)) {
    const int64_t axis = TUTTI_TRY(normalize_axis(attrs.axis, context.input(0).rank()).with_context("attribute axis"));
    statistics = statistics_shape(*context.shape(0), axis);
    for (const int i : {1, 2})
      if (context.has_input(i) && context.shape(i))
        TUTTI_TRY(check_fits(*context.shape(i), *context.shape(0), i == 1 ? "scale" : "B"));
  }
  set_like_input(context);
  for (int i = first_statistic; i <= last_statistic; ++i) context.set_output(i, ValueType::tensor(stash, statistics));
  return ok_status();
}

Status infer_layer_norm(InferContext& context) { return infer_layer(context, 1, 2); }
// The scale decides the output's type.
Status infer_rms_norm(InferContext& context) {
  TUTTI_TRY(infer_layer(context, 1, 0));
  context.set_output(0, ValueType::tensor(context.dtype(1), context.shape(0)));
  return ok_status();
}
Status infer_simplified_layer_norm(InferContext& context) { return infer_layer(context, 1, 1); }

struct LayerOptions {
  int64_t axis = 0;
  double epsilon = 0;
  bool center = true;
  Tensor* mean = nullptr;  // null when not wanted
  Tensor* inverse_deviation = nullptr;
};

// y = normalized(x) * scale + bias, row by row.
template <class C>
void normalize_rows(const ComputeView<C>& x, const Dims& dims, const LayerOptions& options, const Tensor& scale,
                    const Tensor* bias, C* y) {
  const BroadcastReader<C> factor(scale, dims), shift = bias ? BroadcastReader<C>(*bias, dims) : BroadcastReader<C>();
  int64_t inner = 1;
  for (size_t i = static_cast<size_t>(options.axis); i < dims.size(); ++i) inner *= dims[i];
  const int64_t rows = inner == 0 ? 0 : x.size() / inner;
  for (int64_t r = 0; r < rows; ++r) {
    const Moments moments = moments_of(x.data() + r * inner, inner, options.epsilon, options.center);
    if (options.mean) options.mean->set_double(r, moments.mean);
    if (options.inverse_deviation) options.inverse_deviation->set_double(r, moments.inverse_deviation);
    for (int64_t i = r * inner; i < (r + 1) * inner; ++i) {
      const double normalized = (static_cast<double>(x[i]) - moments.mean) * moments.inverse_deviation;
      y[i] = static_cast<C>(normalized * factor(i) + (bias ? shift(i) : 0.0));
    }
  }
}

Result<LayerOptions> layer_options(EvalContext& context, bool center) {
  const auto& attrs = context.attrs<LayerNormalizationAttrs>();
  const Tensor& x = context.input(0);
  LayerOptions options{.axis = TUTTI_TRY(normalize_axis(attrs.axis, x.rank())),
                       .epsilon = static_cast<double>(attrs.epsilon),
                       .center = center};
  const DType stash = TUTTI_TRY(stash_dtype(attrs.stash_type));
  const Dims statistics = TUTTI_TRY(concrete(statistics_shape(to_shape(x.dims()), options.axis)));
  if (center && context.wants_output(1)) options.mean = TUTTI_TRY(context.output(1, stash, statistics));
  const int deviation = center ? 2 : 1;
  if (context.wants_output(deviation))
    options.inverse_deviation = TUTTI_TRY(context.output(deviation, stash, statistics));
  return options;
}

Status eval_layer(EvalContext& context, DType out_dtype, bool center) {
  const Tensor& x = context.input(0);
  const LayerOptions options = TUTTI_TRY(layer_options(context, center));
  const Tensor* bias = context.has_input(2) ? &context.input(2) : nullptr;
  TUTTI_TRY(check_fits(to_shape(context.input(1).dims()), to_shape(x.dims()), "scale"));
  if (bias) TUTTI_TRY(check_fits(to_shape(bias->dims()), to_shape(x.dims()), "B"));
  Tensor* y = TUTTI_TRY(context.output(0, out_dtype, x.dims()));
  with_compute_type(x.dtype(), [&]<class C>() {
    const ComputeView<C> view(x);
    ComputeBuffer<C> buffer(y);
    normalize_rows<C>(view, x.dims(), options, context.input(1), bias, buffer.data());
    buffer.store();
  });
  return ok_status();
}

Status eval_layer_norm(EvalContext& context) { return eval_layer(context, context.input(0).dtype(), true); }
Status eval_rms_norm(EvalContext& context) { return eval_layer(context, context.input(1).dtype(), false); }
Status eval_simplified_layer_norm(EvalContext& context) { return eval_layer(context, context.input(0).dtype(), false); }

// --- skip forms

Status infer_skip(InferContext& context) {
  TUTTI_TRY(require_float(context, 0, "input"));
  TUTTI_TRY(require_same_types(context, {"input", "skip", "gamma", "beta", "bias"}));
  const auto& x = context.shape(0);
  std::optional<Shape> statistics;
  if (x) {
    if (x->empty()) return make_error(Code::kInvalidModel, "input is a scalar, expected rank 1 or more");
    statistics = statistics_shape(*x, static_cast<int64_t>(x->size()) - 1);
    if (context.shape(1)) TUTTI_TRY(check_fits(*context.shape(1), *x, "skip"));
    for (const int i : {2, 3, 4})
      if (context.has_input(i)) TUTTI_TRY(require_vector(context, i, x->back(), fmt::format("input {}", i)));
  }
  set_like_input(context);
  for (const int i : {1, 2}) context.set_output(i, ValueType::tensor(DType::kFloat32, statistics));
  context.set_output(3, context.input(0));
  return ok_status();
}

struct SkipInputs {
  int beta;  // -1: none
  int bias;
};

Status eval_skip(EvalContext& context, SkipInputs inputs) {
  const Tensor& x = context.input(0);
  TUTTI_TRY(require_rank_at_least(x, 1, "input"));
  TUTTI_TRY(check_fits(to_shape(context.input(1).dims()), to_shape(x.dims()), "skip"));
  const Tensor* beta = inputs.beta >= 0 && context.has_input(inputs.beta) ? &context.input(inputs.beta) : nullptr;
  const Tensor* bias = context.has_input(inputs.bias) ? &context.input(inputs.bias) : nullptr;
  const Dims channels{x.dim(x.rank() - 1)};
  TUTTI_TRY(require_dims(context.input(2), channels, "gamma"));
  if (beta) TUTTI_TRY(require_dims(*beta, channels, "beta"));
  if (bias) TUTTI_TRY(require_dims(*bias, channels, "bias"));
  LayerOptions options{.axis = x.rank() - 1,
                       .epsilon = static_cast<double>(context.attrs<SkipLayerNormalizationAttrs>().epsilon),
                       .center = inputs.beta >= 0};
  const Dims statistics = TUTTI_TRY(concrete(statistics_shape(to_shape(x.dims()), options.axis)));
  if (context.wants_output(1)) options.mean = TUTTI_TRY(context.output(1, DType::kFloat32, statistics));
  if (context.wants_output(2)) options.inverse_deviation = TUTTI_TRY(context.output(2, DType::kFloat32, statistics));
  Tensor* y = TUTTI_TRY(context.output(0, x.dtype(), x.dims()));
  Tensor sums = Tensor::allocate(x.dtype(), x.dims());
  with_compute_type(x.dtype(), [&]<class C>() {
    {
      const ComputeView<C> view(x);
      const BroadcastReader<C> skip(context.input(1), x.dims()),
          extra = bias ? BroadcastReader<C>(*bias, x.dims()) : BroadcastReader<C>();
      ComputeBuffer<C> sum(&sums);
      for (int64_t i = 0; i < x.size(); ++i)
        sum.data()[i] = static_cast<C>(static_cast<double>(view[i]) + skip(i) + (bias ? extra(i) : 0.0));
      sum.store();
    }
    const ComputeView<C> total(sums);
    ComputeBuffer<C> buffer(y);
    normalize_rows<C>(total, x.dims(), options, context.input(2), beta, buffer.data());
    buffer.store();
  });
  if (context.wants_output(3)) context.set_output(3, std::move(sums));
  return ok_status();
}

Status eval_skip_layer_norm(EvalContext& context) { return eval_skip(context, {3, 4}); }
Status eval_skip_simplified_layer_norm(EvalContext& context) { return eval_skip(context, {-1, 3}); }

}  // namespace

const OpDef kLayerNormalization{.name = "LayerNormalization",
                                .min_inputs = 2,
                                .max_inputs = 3,
                                .max_outputs = 3,
                                .make_attrs = make_attrs<LayerNormalizationAttrs>,
                                .infer = infer_layer_norm,
                                .eval = eval_layer_norm};
const OpDef kRMSNormalization{.name = "RMSNormalization",
                              .min_inputs = 2,
                              .max_inputs = 2,
                              .make_attrs = make_attrs<LayerNormalizationAttrs>,
                              .infer = infer_rms_norm,
                              .eval = eval_rms_norm};
const OpDef kSimplifiedLayerNormalization{.name = "SimplifiedLayerNormalization",
                                          .min_inputs = 2,
                                          .max_inputs = 2,
                                          .max_outputs = 2,
                                          .make_attrs = make_attrs<LayerNormalizationAttrs>,
                                          .infer = infer_simplified_layer_norm,
                                          .eval = eval_simplified_layer_norm};
const OpDef kSkipLayerNormalization{.name = "SkipLayerNormalization",
                                    .min_inputs = 3,
                                    .max_inputs = 5,
                                    .max_outputs = 4,
                                    .make_attrs = make_attrs<SkipLayerNormalizationAttrs>,
                                    .infer = infer_skip,
                                    .eval = eval_skip_layer_norm};
const OpDef kSkipSimplifiedLayerNormalization{.name = "SkipSimplifiedLayerNormalization",
                                              .min_inputs = 3,
                                              .max_inputs = 4,
                                              .max_outputs = 4,
                                              .make_attrs = make_attrs<SkipLayerNormalizationAttrs>,
                                              .infer = infer_skip,
                                              .eval = eval_skip_simplified_layer_norm};

}  // namespace tutti::ops
