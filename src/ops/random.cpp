#include "ops/random.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ops/infer_common.h"

namespace tutti::ops {
namespace {

using ir::DType;
using ir::EvalContext;
using ir::InferContext;
using ir::OpDef;
using ir::Tensor;

// The node's generator: the run's, or one of its own when the node has a seed.
class Source {
 public:
  Source(EvalContext& ctx, const std::optional<uint64_t>& seed)
      : own_(seed.value_or(0)), random_(seed ? own_ : ctx.random()) {}
  Source(EvalContext& ctx, const std::optional<float>& seed)
      : Source(ctx, seed ? std::optional<uint64_t>(std::bit_cast<uint32_t>(*seed)) : std::nullopt) {}
  // In [0, 1), the same on every platform (the standard's distributions are not).
  double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  double normal() {  // Box-Muller
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(6.283185307179586477 * uniform());
  }

 private:
  std::mt19937_64 own_;
  std::mt19937_64& random_;
};

Status expect_float_output(DType dtype) {
  if (ir::is_compute_float(dtype)) return ok_status();
  return make_error(Code::kInvalidModel, "attribute 'dtype' is {}; expected float32, float64, float16 or bfloat16",
                    ir::dtype_name(dtype));
}

DType output_type(DType attribute, DType input) { return attribute == DType::kUndefined ? input : attribute; }

Status infer_random(InferContext& ctx) {
  const auto& attrs = ctx.attrs<RandomAttrs>();
  TUTTI_TRY(expect_float_output(attrs.dtype));
  TUTTI_TRY(ir::checked_element_count(attrs.shape));
  ctx.set_output(0, attrs.dtype, ir::to_shape(attrs.shape));
  return ok_status();
}

Status infer_random_like(InferContext& ctx) {
  TUTTI_TRY(expect_tensor(ctx, 0));
  const DType dtype = output_type(ctx.attrs<RandomLikeAttrs>().dtype, ctx.dtype(0));
  TUTTI_TRY(expect_float_output(dtype));
  ctx.set_output(0, ir::ValueType::tensor(dtype, ctx.shape(0)));
  return ok_status();
}

template <class A>
void fill_normal(EvalContext& ctx, Tensor& out, const A& a) {
  Source source(ctx, a.seed);
  for (int64_t i = 0; i < out.size(); ++i) out.set_double(i, a.mean + a.scale * source.normal());
}

template <class A>
void fill_uniform(EvalContext& ctx, Tensor& out, const A& a) {
  Source source(ctx, a.seed);
  for (int64_t i = 0; i < out.size(); ++i)
    out.set_double(i, a.low + (static_cast<double>(a.high) - a.low) * source.uniform());
}

template <bool kNormal>
Status eval_random(EvalContext& ctx) {
  const auto& attrs = ctx.attrs<RandomAttrs>();
  Tensor& out = *TUTTI_TRY(ctx.output(0, attrs.dtype, attrs.shape));
  kNormal ? fill_normal(ctx, out, attrs) : fill_uniform(ctx, out, attrs);
  return ok_status();
}

template <bool kNormal>
Status eval_random_like(EvalContext& ctx) {
  const auto& attrs = ctx.attrs<RandomLikeAttrs>();
  Tensor& out = *TUTTI_TRY(ctx.output(0, output_type(attrs.dtype, ctx.input(0).dtype()), ctx.input(0).dims()));
  kNormal ? fill_normal(ctx, out, attrs) : fill_uniform(ctx, out, attrs);
  return ok_status();
}

Status infer_bernoulli(InferContext& ctx) {
  TUTTI_TRY(expect_kind(ctx, 0, ir::is_compute_float, "float32, float64, float16 or bfloat16"));
  ctx.set_output(0, ir::ValueType::tensor(output_type(ctx.attrs<BernoulliAttrs>().dtype, ctx.dtype(0)), ctx.shape(0)));
  return ok_status();
}

Status eval_bernoulli(EvalContext& ctx) {
  const auto& attrs = ctx.attrs<BernoulliAttrs>();
  const Tensor& in = ctx.input(0);
  const DType dtype = output_type(attrs.dtype, in.dtype());
  if (!is_number(dtype) && dtype != DType::kBool)
    return make_error(Code::kUnsupported, "cannot draw {}; expected a number or bool", ir::dtype_name(dtype));
  Tensor* out = TUTTI_TRY(ctx.output(0, dtype, in.dims()));
  Source source(ctx, attrs.seed);
  for (int64_t i = 0; i < in.size(); ++i) out->set_double(i, source.uniform() < in.get_double(i) ? 1 : 0);
  return ok_status();
}

Status infer_multinomial(InferContext& ctx) {
  TUTTI_TRY(expect_kind(ctx, 0, ir::is_compute_float, "float32, float64, float16 or bfloat16"));
  TUTTI_TRY(expect_rank(ctx, 0, 2));
  const auto& attrs = ctx.attrs<MultinomialAttrs>();
  if (attrs.sample_size < 1)
    return make_error(Code::kInvalidModel, "sample_size is {}; expected 1 or more", attrs.sample_size);
  if (!is_int32_or_int64(attrs.dtype))
    return make_error(Code::kInvalidModel, "attribute 'dtype' is {}; expected int32 or int64",
                      ir::dtype_name(attrs.dtype));
  ctx.set_output(0, attrs.dtype, {ctx.shape(0) ? (*ctx.shape(0))[0] : ctx.fresh_dim("batch"), attrs.sample_size});
  return ok_status();
}

// Running sums of exp(log probability), relative to the row's largest.
std::vector<double> cumulative_weights(const Tensor& in, int64_t row, int64_t classes) {
  std::vector<double> weights;
  double top = -INFINITY, total = 0;
  for (int64_t c = 0; c < classes; ++c) top = std::max(top, in.get_double(row * classes + c));
  for (int64_t c = 0; c < classes; ++c) weights.push_back(total += std::exp(in.get_double(row * classes + c) - top));
  return weights;
}

Status eval_multinomial(EvalContext& ctx) {
  const auto& attrs = ctx.attrs<MultinomialAttrs>();
  const Tensor& in = ctx.input(0);
  if (in.rank() != 2 || in.dim(1) == 0)
    return make_error(Code::kInvalidInput, "input is {}; expected [batch, classes]", in.type_text());
  const int64_t classes = in.dim(1);
  Tensor* out = TUTTI_TRY(ctx.output(0, attrs.dtype, {in.dim(0), attrs.sample_size}));
  Source source(ctx, attrs.seed);
  for (int64_t row = 0; row < in.dim(0); ++row) {
    const auto weights = cumulative_weights(in, row, classes);
    for (int64_t s = 0; s < attrs.sample_size; ++s) {
      const auto at = std::upper_bound(weights.begin(), weights.end(), source.uniform() * weights.back());
      out->set_int(row * attrs.sample_size + s, std::min<int64_t>(at - weights.begin(), classes - 1));
    }
  }
  return ok_status();
}

Status infer_dropout(InferContext& ctx) {
  TUTTI_TRY(expect_kind(ctx, 0, ir::is_floating, "a float"));
  TUTTI_TRY(expect_kind(ctx, 1, ir::is_floating, "a float"));
  TUTTI_TRY(expect_dtype(ctx, 2, {DType::kBool}));
  ctx.set_output(1, ir::ValueType::tensor(DType::kBool, ctx.shape(0)));
  return infer_like_first(ctx);
}

// The probability of an element to go: 0 outside of training.
Result<double> dropout_ratio(const EvalContext& ctx) {
  for (const int i : {1, 2})
    if (ctx.has_input(i) && ctx.input(i).size() != 1)
      return make_error(Code::kInvalidInput, "input {} is {}; expected one value", i, ctx.input(i).type_text());
  const bool training = ctx.has_input(2) && ctx.input(2).get_int(0) != 0;
  const double ratio = ctx.has_input(1) ? ctx.input(1).get_double(0) : 0.5;
  if (training && !(ratio >= 0 && ratio < 1))
    return make_error(Code::kInvalidInput, "ratio is {}; expected 0 or more and less than 1", ratio);
  return training ? ratio : 0;
}

Status eval_dropout(EvalContext& ctx) {
  const double ratio = TUTTI_TRY(dropout_ratio(ctx));
  const Tensor& in = ctx.input(0);
  std::vector<bool> kept(static_cast<size_t>(in.size()), true);
  if (ratio == 0) {
    ctx.set_output(0, ctx.datum(0));
  } else {
    const auto& seed = ctx.attrs<DropoutAttrs>().seed;
    Source source(ctx, seed ? std::optional(static_cast<uint64_t>(*seed)) : std::nullopt);
    Tensor* out = TUTTI_TRY(ctx.output(0, in.dtype(), in.dims()));
    for (int64_t i = 0; i < in.size(); ++i) {
      const bool keep = kept[static_cast<size_t>(i)] = source.uniform() >= ratio;
      out->set_double(i, keep ? in.get_double(i) / (1 - ratio) : 0);
    }
  }
  if (!ctx.wants_output(1)) return ok_status();
  Tensor* mask = TUTTI_TRY(ctx.output(1, DType::kBool, in.dims()));
  for (int64_t i = 0; i < in.size(); ++i) mask->set_int(i, kept[static_cast<size_t>(i)] ? 1 : 0);
  return ok_status();
}

template <class A>
constexpr OpDef random_op(std::string_view name, int inputs, Status (*infer)(InferContext&),
                          Status (*eval)(EvalContext&)) {
  return {.name = name,
          .min_inputs = inputs,
          .max_inputs = inputs,
          .make_attrs = ir::make_attrs<A>,
          .infer = infer,
          .eval = eval,
          .tolerance = ir::Tolerance::kApproximate,
          .traits = ir::kRandom};
}

}  // namespace

const OpDef kRandomNormal = random_op<RandomAttrs>("RandomNormal", 0, infer_random, eval_random<true>);
const OpDef kRandomUniform = random_op<RandomAttrs>("RandomUniform", 0, infer_random, eval_random<false>);
const OpDef kRandomNormalLike =
    random_op<RandomLikeAttrs>("RandomNormalLike", 1, infer_random_like, eval_random_like<true>);
const OpDef kRandomUniformLike =
    random_op<RandomLikeAttrs>("RandomUniformLike", 1, infer_random_like, eval_random_like<false>);
const OpDef kBernoulli = random_op<BernoulliAttrs>("Bernoulli", 1, infer_bernoulli, eval_bernoulli);
const OpDef kMultinomial = random_op<MultinomialAttrs>("Multinomial", 1, infer_multinomial, eval_multinomial);

const OpDef kDropout{.name = "Dropout",
                     .min_inputs = 1,
                     .max_inputs = 3,
                     .max_outputs = 2,
                     .make_attrs = ir::make_attrs<DropoutAttrs>,
                     .infer = infer_dropout,
                     .eval = eval_dropout,
                     .tolerance = ir::Tolerance::kExact,
                     .traits = ir::kRandom};

}  // namespace tutti::ops
