// Pointwise operators of two inputs.
#include <cmath>

#include "ops/pointwise.h"
#include "ops/pointwise_dims.h"
#include "ops/pointwise_eval.h"

namespace tutti::ops {
namespace {

using ir::Dim;
using ir::DType;
using ir::EvalContext;
using ir::InferContext;
using ir::OpDef;
using ir::Tolerance;

Status infer_broadcast(InferContext& ctx, DType out) {
  ctx.set_output(0, ir::ValueType::tensor(out, TUTTI_TRY(broadcast_inputs(ctx, 0, 1))));
  return ok_status();
}

Status infer_arithmetic(InferContext& ctx) {
  TUTTI_TRY(expect_kind(ctx, 0, is_arithmetic, "a number"));
  TUTTI_TRY(expect_same_dtype(ctx, 0, 1));
  return infer_broadcast(ctx, ctx.dtype(0));
}

template <auto F>
Status infer_arithmetic_dims(InferContext& ctx) {
  TUTTI_TRY(infer_arithmetic(ctx));
  propagate_dims(ctx, [&](const Dim& a, const Dim& b) -> std::optional<Dim> { return F(a, b, ctx.symbols()); });
  return ok_status();
}

// `F` maps the order (-1, 0, 1) to the result.
template <auto F>
Status infer_order(InferContext& ctx) {
  TUTTI_TRY(expect_kind(ctx, 0, is_arithmetic, "a number"));
  TUTTI_TRY(expect_same_dtype(ctx, 0, 1));
  TUTTI_TRY(infer_broadcast(ctx, DType::kBool));
  propagate_dims(ctx, [&](const Dim& a, const Dim& b) -> std::optional<Dim> {
    const auto order = compare_dims(a, b, ctx.symbols());
    return order ? std::optional(Dim(F(*order) ? 1 : 0)) : std::nullopt;
  });
  return ok_status();
}

bool has_equality(DType d) { return is_number(d) || d == DType::kBool || d == DType::kString || ir::is_complex(d); }

Status infer_equal(InferContext& ctx) {
  TUTTI_TRY(expect_kind(ctx, 0, has_equality, "a number, bool or string"));
  TUTTI_TRY(expect_same_dtype(ctx, 0, 1));
  TUTTI_TRY(infer_broadcast(ctx, DType::kBool));
  propagate_dims(ctx, [&](const Dim& a, const Dim& b) -> std::optional<Dim> {
    const auto equal = equal_dims(a, b, ctx.symbols());
    return equal ? std::optional(Dim(*equal ? 1 : 0)) : std::nullopt;
  });
  return ok_status();
}

template <auto F>
Status infer_logical(InferContext& ctx) {
  TUTTI_TRY(expect_dtype(ctx, 0, {DType::kBool}));
  TUTTI_TRY(expect_same_dtype(ctx, 0, 1));
  TUTTI_TRY(infer_broadcast(ctx, DType::kBool));
  propagate_dims(ctx, [](const Dim& a, const Dim& b) -> std::optional<Dim> {
    if (!a.is_constant() || !b.is_constant()) return std::nullopt;
    return Dim(F(!a.is(0), !b.is(0)) ? 1 : 0);
  });
  return ok_status();
}

Status infer_bitwise(InferContext& ctx) {
  TUTTI_TRY(expect_kind(ctx, 0, ir::is_integer, "an integer"));
  TUTTI_TRY(expect_same_dtype(ctx, 0, 1));
  return infer_broadcast(ctx, ctx.dtype(0));
}

Status infer_pow(InferContext& ctx) {
  TUTTI_TRY(expect_kind(ctx, 0, is_arithmetic, "a number"));
  TUTTI_TRY(expect_kind(ctx, 1, is_arithmetic, "a number"));
  return infer_broadcast(ctx, ctx.dtype(0));
}

Status infer_prelu(InferContext& ctx) {
  TUTTI_TRY(infer_arithmetic(ctx));
  if (!ctx.shape(0) || !ctx.shape(1)) return ok_status();
  if (ctx.shape(1)->size() > ctx.shape(0)->size())
    return make_error(Code::kInvalidModel, "slope has shape {}; expected one that broadcasts to the input's {}",
                      ir::shape_text(*ctx.shape(1)), ir::shape_text(*ctx.shape(0)));
  ctx.set_output(0, ctx.input(0));  // the slope never widens the input
  return ok_status();
}

Status eval_string_equal(EvalContext& ctx, ir::Tensor& out) {
  const auto a = ctx.input(0).string_data(), b = ctx.input(1).string_data();
  StridedWalk::broadcast(out.dims(), {&ctx.input(0).dims(), &ctx.input(1).dims()})
      .for_each_run([&](int64_t begin, int64_t count, const int64_t* offsets, const int64_t* strides) {
        for (int64_t k = 0; k < count; ++k)
          out.set_int(begin + k, a[static_cast<size_t>(offsets[0] + k * strides[0])] ==
                                     b[static_cast<size_t>(offsets[1] + k * strides[1])]);
      });
  return ok_status();
}

Status eval_equal(EvalContext& ctx) {
  if (ctx.input(0).dtype() != DType::kString) return eval_comparison<[](auto a, auto b) { return a == b; }>(ctx);
  const ir::Dims dims = TUTTI_TRY(ir::broadcast(ctx.input(0).dims(), ctx.input(1).dims()));
  return eval_string_equal(ctx, *TUTTI_TRY(ctx.output(0, DType::kBool, dims)));
}

Status eval_bit_shift(EvalContext& ctx) {
  const bool left = ctx.attrs<BitShiftAttrs>().direction == ShiftDirection::kLeft;
  const ir::Dims dims = TUTTI_TRY(ir::broadcast(ctx.input(0).dims(), ctx.input(1).dims()));
  ir::Tensor* out = TUTTI_TRY(ctx.output(0, ctx.input(0).dtype(), dims));
  zip_blocks<uint64_t, uint64_t, uint64_t>(ctx.input(0), ctx.input(1), *out,
                                           [left](uint64_t x, uint64_t by) -> uint64_t {
                                             if (by >= 64) return 0;  // narrower types lose their bits in the store
                                             return left ? x << by : x >> by;
                                           });
  return ok_status();
}

template <class C>
C modulo(C a, C b, bool fmod) {
  if constexpr (std::is_same_v<C, double>) {
    const double r = std::fmod(a, b);
    return !fmod && r != 0 && (r < 0) != (b < 0) ? r + b : r;
  } else {
    if (b == 0 || b == static_cast<C>(-1)) return b == 0 || std::is_signed_v<C> ? C(0) : a % b;  // INT64_MIN % -1 traps
    const C r = a % b;
    return !fmod && r != 0 && (r < 0) != (b < 0) ? r + b : r;
  }
}

Status eval_mod(EvalContext& ctx) {
  return ctx.attrs<ModAttrs>().fmod ? eval_number_binary<[]<class C>(C a, C b) { return modulo(a, b, true); }>(ctx)
                                    : eval_number_binary<[]<class C>(C a, C b) { return modulo(a, b, false); }>(ctx);
}

// Wraps like multiplication does; negative exponents truncate (1/x is 0 beyond |x| = 1).
int64_t int_power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return 0;
  }
  uint64_t result = 1, factor = static_cast<uint64_t>(base);
  for (uint64_t e = static_cast<uint64_t>(exponent); e != 0; e >>= 1, factor *= factor)
    if (e & 1) result *= factor;
  return static_cast<int64_t>(result);
}

Status eval_pow(EvalContext& ctx) {
  const ir::Tensor &base = ctx.input(0), &exponent = ctx.input(1);
  const ir::Dims dims = TUTTI_TRY(ir::broadcast(base.dims(), exponent.dims()));
  ir::Tensor* out = TUTTI_TRY(ctx.output(0, base.dtype(), dims));
  if (ir::is_integer(base.dtype()) && ir::is_integer(exponent.dtype()))
    zip_blocks<int64_t, int64_t, int64_t>(base, exponent, *out, int_power);
  else
    zip_blocks<double, double, double>(base, exponent, *out, [](double a, double b) { return std::pow(a, b); });
  return ok_status();
}

template <class C>
C divide(C a, C b) {
  if constexpr (std::is_same_v<C, double>)
    return a / b;
  else if (b == 0)
    return 0;
  else if (std::is_signed_v<C> && b == static_cast<C>(-1))
    return static_cast<C>(-static_cast<uint64_t>(a));  // INT64_MIN / -1 traps
  else
    return a / b;
}

constexpr OpDef binary(std::string_view name, Status (*infer)(InferContext&), Status (*eval)(EvalContext&),
                       uint32_t traits = 0, Tolerance tolerance = Tolerance::kExact) {
  return {.name = name,
          .min_inputs = 2,
          .max_inputs = 2,
          .infer = infer,
          .eval = eval,
          .tolerance = tolerance,
          .traits = ir::kPointwise | traits};
}

// int64 sums and products wrap: they are taken in unsigned arithmetic.
struct Wrap {
  template <class C, class F>
  static C run(C a, C b, F f) {
    if constexpr (std::is_same_v<C, double>)
      return f(a, b);
    else
      return static_cast<C>(f(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  }
};
template <auto F>
Status eval_wrapping(EvalContext& ctx) {
  return eval_number_binary<[]<class C>(C a, C b) -> C { return Wrap::run(a, b, F); }>(ctx);
}
// Bits of integers; never called for floats.
template <auto F>
Status eval_bits(EvalContext& ctx) {
  return eval_number_binary<[]<class C>(C a, C b) -> C {
    if constexpr (std::is_same_v<C, double>)
      return a;
    else
      return static_cast<C>(F(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  }>(ctx);
}

}  // namespace

// clang-format off
const OpDef kAdd = binary("Add", infer_arithmetic_dims<[](const Dim& a, const Dim& b, auto&) { return a + b; }>,
                          eval_wrapping<[](auto a, auto b) { return a + b; }>, ir::kCommutative, Tolerance::kRounding);
const OpDef kSub = binary("Sub", infer_arithmetic_dims<[](const Dim& a, const Dim& b, auto&) { return a - b; }>,
                          eval_wrapping<[](auto a, auto b) { return a - b; }>, 0, Tolerance::kRounding);
const OpDef kMul = binary("Mul", infer_arithmetic_dims<[](const Dim& a, const Dim& b, auto&) { return a * b; }>,
                          eval_wrapping<[](auto a, auto b) { return a * b; }>, ir::kCommutative, Tolerance::kRounding);
const OpDef kDiv = binary("Div", infer_arithmetic_dims<divide_dims>, eval_number_binary<[]<class C>(C a, C b) -> C { return divide(a, b); }>,
                          0, Tolerance::kRounding);
const OpDef kPow = binary("Pow", infer_pow, eval_pow, 0, Tolerance::kApproximate);
const OpDef kPRelu = binary("PRelu", infer_prelu, eval_number_binary<[]<class C>(C x, C slope) -> C {
  return (x < C(0)) ? Wrap::run(x, slope, [](auto a, auto b) { return a * b; }) : x; }>, 0, Tolerance::kRounding);

const OpDef kEqual = binary("Equal", infer_equal, eval_equal, ir::kCommutative);
const OpDef kGreater = binary("Greater", infer_order<[](int o) { return (o > 0); }>, eval_comparison<[](auto a, auto b) { return (a > b); }>);
const OpDef kGreaterOrEqual = binary("GreaterOrEqual", infer_order<[](int o) { return (o >= 0); }>, eval_comparison<[](auto a, auto b) { return (a >= b); }>);
const OpDef kLess = binary("Less", infer_order<[](int o) { return (o < 0); }>, eval_comparison<[](auto a, auto b) { return (a < b); }>);
const OpDef kLessOrEqual = binary("LessOrEqual", infer_order<[](int o) { return (o <= 0); }>, eval_comparison<[](auto a, auto b) { return (a <= b); }>);

const OpDef kAnd = binary("And", infer_logical<[](bool a, bool b) { return a && b; }>, eval_bits<[](uint64_t a, uint64_t b) { return a & b; }>, ir::kCommutative);
const OpDef kOr = binary("Or", infer_logical<[](bool a, bool b) { return a || b; }>, eval_bits<[](uint64_t a, uint64_t b) { return a | b; }>, ir::kCommutative);
const OpDef kXor = binary("Xor", infer_logical<[](bool a, bool b) { return a != b; }>, eval_bits<[](uint64_t a, uint64_t b) { return a ^ b; }>, ir::kCommutative);
const OpDef kBitwiseAnd = binary("BitwiseAnd", infer_bitwise, eval_bits<[](uint64_t a, uint64_t b) { return a & b; }>, ir::kCommutative);
const OpDef kBitwiseOr = binary("BitwiseOr", infer_bitwise, eval_bits<[](uint64_t a, uint64_t b) { return a | b; }>, ir::kCommutative);
const OpDef kBitwiseXor = binary("BitwiseXor", infer_bitwise, eval_bits<[](uint64_t a, uint64_t b) { return a ^ b; }>, ir::kCommutative);
// clang-format on

const OpDef kBitShift{.name = "BitShift",
                      .min_inputs = 2,
                      .max_inputs = 2,
                      .make_attrs = ir::make_attrs<BitShiftAttrs>,
                      .infer = infer_bitwise,
                      .eval = eval_bit_shift,
                      .tolerance = Tolerance::kExact,
                      .traits = ir::kPointwise};
const OpDef kMod{.name = "Mod",
                 .min_inputs = 2,
                 .max_inputs = 2,
                 .make_attrs = ir::make_attrs<ModAttrs>,
                 .infer = infer_arithmetic,
                 .eval = eval_mod,
                 .tolerance = Tolerance::kExact,
                 .traits = ir::kPointwise};

}  // namespace tutti::ops
