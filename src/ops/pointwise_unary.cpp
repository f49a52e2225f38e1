// Pointwise operators of one input.
#include <algorithm>
#include <cmath>

#include "ops/pointwise.h"
#include "ops/pointwise_eval.h"

namespace tutti::ops {
namespace {

using ir::DType;
using ir::EvalContext;
using ir::InferContext;
using ir::OpDef;
using ir::Tolerance;

constexpr double kSqrtHalf = 0.70710678118654752440, kSqrtTwoOverPi = 0.79788456080286535588;

double sigmoid(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }
double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
double gelu_erf(double x) { return 0.5 * x * (1 + std::erf(x * kSqrtHalf)); }
double gelu_tanh(double x) { return 0.5 * x * (1 + std::tanh(kSqrtTwoOverPi * (x + 0.044715 * x * x * x))); }
double clamp_unit(double x) { return x < 0 ? 0 : x > 1 ? 1 : x; }

constexpr OpDef float_op(std::string_view name, Status (*eval)(EvalContext&),
                         Tolerance tolerance = Tolerance::kApproximate) {
  return {.name = name,
          .min_inputs = 1,
          .max_inputs = 1,
          .infer = infer_float_like_first,
          .eval = eval,
          .tolerance = tolerance,
          .traits = ir::kPointwise};
}

template <class A>
constexpr OpDef float_op_with(std::string_view name, Status (*eval)(EvalContext&),
                              Tolerance tolerance = Tolerance::kApproximate) {
  OpDef op = float_op(name, eval, tolerance);
  op.make_attrs = ir::make_attrs<A>;
  return op;
}

constexpr OpDef number_op(std::string_view name, Status (*eval)(EvalContext&),
                          Status (*infer)(InferContext&) = infer_number_like_first) {
  return {.name = name,
          .min_inputs = 1,
          .max_inputs = 1,
          .infer = infer,
          .eval = eval,
          .tolerance = Tolerance::kExact,
          .traits = ir::kPointwise};
}

// Where the input's elements are dimensions, so are the output's.
template <auto F>
Status infer_number_and_dims(InferContext& ctx) {
  TUTTI_TRY(infer_number_like_first(ctx));
  if (auto value = ctx.dims_value(0); value && ir::is_integer(ctx.dtype(0))) {
    for (ir::Dim& d : *value) d = F(d);
    ctx.set_dims_value(0, *std::move(value));
  }
  return ok_status();
}

Status infer_predicate(InferContext& ctx) {
  TUTTI_TRY(expect_kind(ctx, 0, ir::is_floating, "a float"));
  ctx.set_output(0, ir::ValueType::tensor(DType::kBool, ctx.shape(0)));
  return ok_status();
}

Status infer_not(InferContext& ctx) {
  TUTTI_TRY(expect_dtype(ctx, 0, {DType::kBool}));
  TUTTI_TRY(infer_like_first(ctx));
  if (auto value = ctx.ints_value(0))
    ctx.set_dims_value(0, [&] {
      std::vector<ir::Dim> out;
      for (int64_t x : *value) out.emplace_back(x == 0 ? 1 : 0);
      return out;
    }());
  return ok_status();
}

Status infer_bitwise_not(InferContext& ctx) {
  TUTTI_TRY(expect_kind(ctx, 0, ir::is_integer, "an integer"));
  return infer_like_first(ctx);
}

template <class F>
Status eval_predicate(EvalContext& ctx, F f) {
  ir::Tensor* out = TUTTI_TRY(ctx.output(0, DType::kBool, ctx.input(0).dims()));
  map_blocks<double, uint64_t>(ctx.input(0), *out, f);
  return ok_status();
}

Status eval_is_nan(EvalContext& ctx) {
  return eval_predicate(ctx, [](double x) { return std::isnan(x); });
}

Status eval_is_inf(EvalContext& ctx) {
  const auto& a = ctx.attrs<IsInfAttrs>();
  return eval_predicate(ctx,
                        [&](double x) { return std::isinf(x) && (x > 0 ? a.detect_positive : a.detect_negative); });
}

Status eval_shrink(EvalContext& ctx) {
  const auto& a = ctx.attrs<ShrinkAttrs>();
  ir::Tensor* out = TUTTI_TRY(ctx.output(0, ctx.input(0).dtype(), ctx.input(0).dims()));
  map_blocks<double, double>(ctx.input(0), *out, [&](double x) {
    return x < -static_cast<double>(a.lambd) ? x + a.bias : x > a.lambd ? x - a.bias : 0.0;
  });
  return ok_status();
}

}  // namespace

// clang-format off
const OpDef kAcos = float_op("Acos", eval_float_unary<[](double x) { return std::acos(x); }>);
const OpDef kAcosh = float_op("Acosh", eval_float_unary<[](double x) { return std::acosh(x); }>);
const OpDef kAsin = float_op("Asin", eval_float_unary<[](double x) { return std::asin(x); }>);
const OpDef kAsinh = float_op("Asinh", eval_float_unary<[](double x) { return std::asinh(x); }>);
const OpDef kAtan = float_op("Atan", eval_float_unary<[](double x) { return std::atan(x); }>);
const OpDef kAtanh = float_op("Atanh", eval_float_unary<[](double x) { return std::atanh(x); }>);
const OpDef kCeil = float_op("Ceil", eval_float_unary<[](double x) { return std::ceil(x); }>, Tolerance::kExact);
const OpDef kCos = float_op("Cos", eval_float_unary<[](double x) { return std::cos(x); }>);
const OpDef kCosh = float_op("Cosh", eval_float_unary<[](double x) { return std::cosh(x); }>);
const OpDef kErf = float_op("Erf", eval_float_unary<[](double x) { return std::erf(x); }>);
const OpDef kExp = float_op("Exp", eval_float_unary<[](double x) { return std::exp(x); }>);
const OpDef kFloor = float_op("Floor", eval_float_unary<[](double x) { return std::floor(x); }>, Tolerance::kExact);
const OpDef kHardSwish = float_op("HardSwish", eval_float_unary<[](double x) { return x * clamp_unit(x / 6 + 0.5); }>, Tolerance::kRounding);
const OpDef kLog = float_op("Log", eval_float_unary<[](double x) { return std::log(x); }>);
const OpDef kMish = float_op("Mish", eval_float_unary<[](double x) { return x * std::tanh(softplus(x)); }>);
const OpDef kReciprocal = float_op("Reciprocal", eval_float_unary<[](double x) { return 1 / x; }>, Tolerance::kRounding);
const OpDef kRound = float_op("Round", eval_float_unary<[](double x) { return std::nearbyint(x); }>, Tolerance::kExact);
const OpDef kSigmoid = float_op("Sigmoid", eval_float_unary<sigmoid>);
const OpDef kSin = float_op("Sin", eval_float_unary<[](double x) { return std::sin(x); }>);
const OpDef kSinh = float_op("Sinh", eval_float_unary<[](double x) { return std::sinh(x); }>);
const OpDef kSoftplus = float_op("Softplus", eval_float_unary<softplus>);
const OpDef kSoftsign = float_op("Softsign", eval_float_unary<[](double x) { return x / (1 + std::fabs(x)); }>, Tolerance::kRounding);
const OpDef kSqrt = float_op("Sqrt", eval_float_unary<[](double x) { return std::sqrt(x); }>, Tolerance::kRounding);
const OpDef kTan = float_op("Tan", eval_float_unary<[](double x) { return std::tan(x); }>);
const OpDef kTanh = float_op("Tanh", eval_float_unary<[](double x) { return std::tanh(x); }>);

const OpDef kCelu = float_op_with<CeluAttrs>("Celu", eval_float_unary_with<CeluAttrs, [](double x, const CeluAttrs& a) {
  return std::max(0.0, x) + std::min(0.0, a.alpha * std::expm1(x / a.alpha)); }>);
const OpDef kElu = float_op_with<EluAttrs>("Elu", eval_float_unary_with<EluAttrs, [](double x, const EluAttrs& a) {
  return x < 0 ? a.alpha * std::expm1(x) : x; }>);
const OpDef kGelu = float_op_with<GeluAttrs>("Gelu", eval_float_unary_with<GeluAttrs, [](double x, const GeluAttrs& a) {
  return a.approximate == GeluForm::kTanh ? gelu_tanh(x) : gelu_erf(x); }>);
const OpDef kHardSigmoid = float_op_with<HardSigmoidAttrs>("HardSigmoid", eval_float_unary_with<HardSigmoidAttrs, [](double x, const HardSigmoidAttrs& a) {
  return clamp_unit(a.alpha * x + a.beta); }>, Tolerance::kRounding);
const OpDef kLeakyRelu = float_op_with<LeakyReluAttrs>("LeakyRelu", eval_float_unary_with<LeakyReluAttrs, [](double x, const LeakyReluAttrs& a) {
  return x < 0 ? a.alpha * x : x; }>, Tolerance::kRounding);
const OpDef kSelu = float_op_with<SeluAttrs>("Selu", eval_float_unary_with<SeluAttrs, [](double x, const SeluAttrs& a) {
  return x <= 0 ? static_cast<double>(a.gamma) * a.alpha * std::expm1(x) : a.gamma * x; }>);
const OpDef kSwish = float_op_with<SwishAttrs>("Swish", eval_float_unary_with<SwishAttrs, [](double x, const SwishAttrs& a) {
  return x * sigmoid(a.alpha * x); }>);
const OpDef kQuickGelu = float_op_with<QuickGeluAttrs>("QuickGelu", eval_float_unary_with<QuickGeluAttrs, [](double x, const QuickGeluAttrs& a) {
  return x * sigmoid(a.alpha * x); }>);
const OpDef kThresholdedRelu = float_op_with<ThresholdedReluAttrs>("ThresholdedRelu", eval_float_unary_with<ThresholdedReluAttrs, [](double x, const ThresholdedReluAttrs& a) {
  return (x > a.alpha) ? x : 0.0; }>, Tolerance::kExact);

// -x is taken in unsigned arithmetic, where it wraps instead of overflowing.
const OpDef kAbs = number_op("Abs", eval_number_unary<[]<class C>(C x) -> C {
  if constexpr (std::is_same_v<C, double>) return std::fabs(x);
  else if constexpr (std::is_same_v<C, uint64_t>) return x;
  else return x < 0 ? static_cast<C>(-static_cast<uint64_t>(x)) : x; }>);
const OpDef kNeg = number_op("Neg", eval_number_unary<[]<class C>(C x) -> C {
  if constexpr (std::is_same_v<C, double>) return -x;
  else return static_cast<C>(-static_cast<uint64_t>(x)); }>, infer_number_and_dims<[](const ir::Dim& d) { return ir::Dim(0) - d; }>);
const OpDef kRelu = number_op("Relu", eval_number_unary<[]<class C>(C x) -> C { return x < C(0) ? C(0) : x; }>,
                              infer_number_and_dims<[](const ir::Dim& d) { return ir::Dim::max(d, 0); }>);
const OpDef kSign = number_op("Sign", eval_number_unary<[]<class C>(C x) -> C { return (x > C(0)) ? C(1) : (x < C(0)) ? static_cast<C>(-1) : x; }>);
const OpDef kBitwiseNot = number_op("BitwiseNot", eval_number_unary<[]<class C>(C x) -> C {
  if constexpr (std::is_same_v<C, double>) return x;
  else return ~x; }>, infer_bitwise_not);
const OpDef kNot = number_op("Not", eval_number_unary<[]<class C>(C x) -> C { return x == C(0) ? C(1) : C(0); }>, infer_not);
const OpDef kIsNaN = number_op("IsNaN", eval_is_nan, infer_predicate);
// clang-format on

const OpDef kIsInf{.name = "IsInf",
                   .min_inputs = 1,
                   .max_inputs = 1,
                   .make_attrs = ir::make_attrs<IsInfAttrs>,
                   .infer = infer_predicate,
                   .eval = eval_is_inf,
                   .tolerance = Tolerance::kExact,
                   .traits = ir::kPointwise};
const OpDef kShrink{.name = "Shrink",
                    .min_inputs = 1,
                    .max_inputs = 1,
                    .make_attrs = ir::make_attrs<ShrinkAttrs>,
                    .infer = infer_number_like_first,
                    .eval = eval_shrink,
                    .traits = ir::kPointwise};

}  // namespace tutti::ops
