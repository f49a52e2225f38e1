// One-input element by element operators on float32.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "backends/cpu/kernels/common.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/simd/pointwise.h"

namespace tutti::cpu {
namespace {

using ops::Activation;
using simd::Unary;
using simd::UnaryCall;

struct Entry {
  std::string_view op;
  UnaryCall call;
  double nanoseconds;  // per element, on one AVX2 core
};

UnaryCall activation(Activation kind, float alpha = 0, float beta = 0) {
  return {Unary::kActivation, kind, alpha, beta};
}

// Nothing when the operator, or this form of it, is not among those of simd/pointwise.h.
std::optional<Entry> entry_of(const KernelQuery& query) {
  const std::string_view op = query.op.name;
  const auto number = [&](const char* name, float fallback) { return ir::attr_float(query.attrs, name, fallback); };
  if (op == "Relu") return Entry{op, activation(Activation::kRelu), 0.2};
  if (op == "Sigmoid") return Entry{op, activation(Activation::kSigmoid), 1.2};
  if (op == "Tanh") return Entry{op, activation(Activation::kTanh), 1.5};
  if (op == "HardSwish") return Entry{op, activation(Activation::kHardSwish), 0.3};
  if (op == "HardSigmoid")
    return Entry{op, activation(Activation::kHardSigmoid, number("alpha", 0.2f), number("beta", 0.5f)), 0.3};
  if (op == "LeakyRelu") return Entry{op, activation(Activation::kLeakyRelu, number("alpha", 0.01f)), 0.2};
  if (op == "Elu") return Entry{op, activation(Activation::kElu, number("alpha", 1)), 1.2};
  if (op == "Gelu") {
    const bool approximate = ir::attr_string(query.attrs, "approximate", "none") == "tanh";
    return Entry{op, activation(approximate ? Activation::kGeluTanh : Activation::kGeluErf), 1.8};
  }
  if (op == "QuickGelu") return Entry{op, activation(Activation::kQuickGelu, number("alpha", 1.702f)), 1.3};
  if (op == "Swish") return Entry{op, activation(Activation::kQuickGelu, number("alpha", 1)), 1.3};
  if (op == "Erf") return Entry{op, {Unary::kErf}, 1.6};
  if (op == "Exp") return Entry{op, {Unary::kExp}, 0.8};
  if (op == "Sqrt") return Entry{op, {Unary::kSqrt}, 0.8};
  if (op == "Reciprocal") return Entry{op, {Unary::kReciprocal}, 0.6};
  if (op == "Neg") return Entry{op, {Unary::kNeg}, 0.2};
  if (op == "Abs") return Entry{op, {Unary::kAbs}, 0.2};
  if (op == "Floor") return Entry{op, {Unary::kFloor}, 0.2};
  if (op == "Ceil") return Entry{op, {Unary::kCeil}, 0.2};
  if (op == "Round") return Entry{op, {Unary::kRound}, 0.2};
  return std::nullopt;
}

std::optional<Refusal> supports(const KernelQuery& query) {
  if (!entry_of(query)) return "no vector form of this operator";
  return refuse_unless_float(query);
}

Status run(const Entry& entry, int64_t count, const RunContext& context) {
  const float* src = input<float>(context, 0);
  float* dst = output<float>(context, 0);
  split(context.threads, count, entry.nanoseconds,
        [&](int64_t begin, int64_t end) { simd::unary(entry.call, src + begin, dst + begin, end - begin); });
  return ok_status();
}

Result<std::unique_ptr<Kernel>> prepare(const PrepareContext& context) {
  const Entry entry = *entry_of(context.query);
  const int64_t count = product(context.query.outputs[0].dims);
  return make_kernel([entry, count](const RunContext& c) { return run(entry, count, c); });
}

// Clip has its bounds as inputs.
std::optional<Refusal> supports_clip(const KernelQuery& query) { return refuse_unless_float(query); }

Result<std::unique_ptr<Kernel>> prepare_clip(const PrepareContext& context) {
  const int64_t count = product(context.query.outputs[0].dims);
  return make_kernel([count](const RunContext& c) {
    const float infinity = std::numeric_limits<float>::infinity();
    const float* given_low = input<float>(c, 1);
    const float* given_high = input<float>(c, 2);
    const float high = given_high ? *given_high : infinity;
    const float low = given_low ? std::min(*given_low, high) : -infinity;  // crossed bounds: the upper one wins
    return run({"Clip", activation(Activation::kClip, low, high), 0.2}, count, c);
  });
}

// Functions that the C library computes one by one; worth a kernel because they are spread over threads.
using Function = float (*)(float);
Function function_of(std::string_view op) {
  if (op == "Log") return [](float x) { return std::log(x); };
  if (op == "Sin") return [](float x) { return std::sin(x); };
  if (op == "Cos") return [](float x) { return std::cos(x); };
  if (op == "Softplus") return [](float x) { return x > 20 ? x : std::log1p(std::exp(x)); };
  if (op == "Mish") return [](float x) { return x * std::tanh(x > 20 ? x : std::log1p(std::exp(x))); };
  if (op == "Softsign") return [](float x) { return x / (1 + std::fabs(x)); };
  return nullptr;
}

std::optional<Refusal> supports_function(const KernelQuery& query) {
  if (function_of(query.op.name) == nullptr) return "no scalar form of this operator";
  return refuse_unless_float(query);
}

Result<std::unique_ptr<Kernel>> prepare_function(const PrepareContext& context) {
  const Function f = function_of(context.query.op.name);
  const int64_t count = product(context.query.outputs[0].dims);
  return make_kernel([f, count](const RunContext& c) {
    const float* src = input<float>(c, 0);
    float* dst = output<float>(c, 0);
    split(c.threads, count, 10, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) dst[i] = f(src[i]);
    });
    return ok_status();
  });
}

// Tests, element by element: floats or bools to bools.
template <class T, class F>
Result<std::unique_ptr<Kernel>> make_test(int64_t count, F f) {
  return make_kernel([count, f](const RunContext& c) {
    const T* src = input<T>(c, 0);
    bool* dst = output<bool>(c, 0);
    split(c.threads, count, 0.5, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) dst[i] = f(src[i]);
    });
    return ok_status();
  });
}

Result<std::unique_ptr<Kernel>> prepare_is_nan(const PrepareContext& context) {
  return make_test<float>(product(context.query.outputs[0].dims), [](float x) { return x != x; });
}

Result<std::unique_ptr<Kernel>> prepare_is_inf(const PrepareContext& context) {
  const KernelQuery& query = context.query;
  const float infinity = std::numeric_limits<float>::infinity();
  // A bound that is not wanted is one that nothing equals.
  const float none = std::numeric_limits<float>::quiet_NaN();
  const float low = ir::attr_bool(query.attrs, "detect_negative", true) ? -infinity : none;
  const float high = ir::attr_bool(query.attrs, "detect_positive", true) ? infinity : none;
  return make_test<float>(product(query.outputs[0].dims), [=](float x) { return x == low || x == high; });
}

Result<std::unique_ptr<Kernel>> prepare_not(const PrepareContext& context) {
  return make_test<bool>(product(context.query.outputs[0].dims), [](bool x) { return !x; });
}

std::optional<Refusal> refuse_unless_bool(const KernelQuery& query) {
  if (query.inputs[0].dtype == DType::kBool) return std::nullopt;
  return "takes bool only, found " + std::string(ir::dtype_name(query.inputs[0].dtype));
}

int over_input(const KernelQuery&) { return 0; }

}  // namespace

const KernelDef kUnary{.name = "vector.unary", .supports = supports, .prepare = prepare, .in_place_input = over_input};
const KernelDef kClip{
    .name = "vector.clip", .supports = supports_clip, .prepare = prepare_clip, .in_place_input = over_input};
const KernelDef kFunction{.name = "scalar.function",
                          .supports = supports_function,
                          .prepare = prepare_function,
                          .in_place_input = over_input};
const KernelDef kIsNan{.name = "loop.is_nan", .supports = refuse_unless_float, .prepare = prepare_is_nan};
const KernelDef kIsInf{.name = "loop.is_inf", .supports = refuse_unless_float, .prepare = prepare_is_inf};
const KernelDef kNot{
    .name = "loop.not", .supports = refuse_unless_bool, .prepare = prepare_not, .in_place_input = over_input};

}  // namespace tutti::cpu
