// Two-input element by element operators with broadcasting: float32 in vectors, integers and comparisons in plain
// loops.
#include <cmath>
#include <string_view>

#include "backends/cpu/kernels/broadcast_plan.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/simd/pointwise.h"

namespace tutti::cpu {
namespace {

using simd::Binary;

std::optional<Binary> vector_op(std::string_view op) {
  if (op == "Add") return Binary::kAdd;
  if (op == "Sub") return Binary::kSub;
  if (op == "Mul") return Binary::kMul;
  if (op == "Div") return Binary::kDiv;
  if (op == "Max") return Binary::kMax;
  if (op == "Min") return Binary::kMin;
  return std::nullopt;
}

std::optional<Refusal> supports(const KernelQuery& query) {
  if (!vector_op(query.op.name)) return "no vector form of this operator";
  if (query.inputs.size() != 2) return "takes two inputs";
  return refuse_unless_float(query);
}

// A run of `count` where neither operand is contiguous or fixed falls to single elements.
void combine_run(Binary op, const float* a, int64_t a_step, const float* b, int64_t b_step, float* dst, int64_t count) {
  if (a_step <= 1 && b_step <= 1) return simd::binary(op, {a, a_step == 0}, {b, b_step == 0}, dst, count);
  for (int64_t i = 0; i < count; ++i) simd::binary(op, {a + i * a_step, true}, {b + i * b_step, true}, dst + i, 1);
}

Result<std::unique_ptr<Kernel>> prepare(const PrepareContext& context) {
  const KernelQuery& query = context.query;
  const Binary op = *vector_op(query.op.name);
  BroadcastPlan plan(query.outputs[0].dims, {query.inputs[0].dims, query.inputs[1].dims});
  const double cost = 0.15 + 8.0 / static_cast<double>(std::max<int64_t>(1, plan.run_length()));
  return make_kernel([op, cost, plan = std::move(plan)](const RunContext& c) {
    const float *a = input<float>(c, 0), *b = input<float>(c, 1);
    float* dst = output<float>(c, 0);
    split(c.threads, plan.count(), cost, [&](int64_t begin, int64_t end) {
      plan.for_range(begin, end, [&](int64_t at, int64_t length, const int64_t* offsets) {
        combine_run(op, a + offsets[0], plan.inner_stride(0), b + offsets[1], plan.inner_stride(1), dst + at, length);
      });
    });
    return ok_status();
  });
}

int over_full_operand(const KernelQuery& query) {
  const TensorDesc& out = query.outputs[0];
  for (int i = 0; i < 2; ++i) {
    const TensorDesc& in = query.inputs[static_cast<size_t>(i)];
    if (in.dims == out.dims && in.dtype == out.dtype) return i;
  }
  return -1;
}

// --- plain loops
// ------------------------------------------------------------------------------------------------------------------

template <class In, class Out, class F>
Result<std::unique_ptr<Kernel>> make_loop(const KernelQuery& query, double cost, F f) {
  BroadcastPlan plan(query.outputs[0].dims, {query.inputs[0].dims, query.inputs[1].dims});
  return make_kernel([f, cost, plan = std::move(plan)](const RunContext& c) {
    const In *a = input<In>(c, 0), *b = input<In>(c, 1);
    Out* dst = output<Out>(c, 0);
    split(c.threads, plan.count(), cost, [&](int64_t begin, int64_t end) {
      plan.for_range(begin, end, [&](int64_t at, int64_t length, const int64_t* offsets) {
        const In *x = a + offsets[0], *y = b + offsets[1];
        const int64_t sx = plan.inner_stride(0), sy = plan.inner_stride(1);
        for (int64_t i = 0; i < length; ++i) dst[at + i] = f(x[i * sx], y[i * sy]);
      });
    });
    return ok_status();
  });
}

template <class T>
Result<std::unique_ptr<Kernel>> prepare_compare(const KernelQuery& query) {
  const std::string_view op = query.op.name;
  if (op == "Equal") return make_loop<T, bool>(query, 1, [](T x, T y) { return x == y; });
  if (op == "Less") return make_loop<T, bool>(query, 1, [](T x, T y) { return x < y; });
  if (op == "LessOrEqual") return make_loop<T, bool>(query, 1, [](T x, T y) { return x <= y; });
  if (op == "Greater") return make_loop<T, bool>(query, 1, [](T x, T y) { return x > y; });
  return make_loop<T, bool>(query, 1, [](T x, T y) { return x >= y; });
}

// Wraps on overflow, as the reference does.
template <class T>
Result<std::unique_ptr<Kernel>> prepare_integer(const KernelQuery& query) {
  using U = std::make_unsigned_t<T>;
  const std::string_view op = query.op.name;
  if (op == "Add")
    return make_loop<T, T>(query, 1, [](T x, T y) { return static_cast<T>(static_cast<U>(x) + static_cast<U>(y)); });
  if (op == "Sub")
    return make_loop<T, T>(query, 1, [](T x, T y) { return static_cast<T>(static_cast<U>(x) - static_cast<U>(y)); });
  if (op == "Mul")
    return make_loop<T, T>(query, 1, [](T x, T y) { return static_cast<T>(static_cast<U>(x) * static_cast<U>(y)); });
  if (op == "Max") return make_loop<T, T>(query, 1, [](T x, T y) { return std::max(x, y); });
  return make_loop<T, T>(query, 1, [](T x, T y) { return std::min(x, y); });
}

bool is_compare(std::string_view op) {
  return op == "Equal" || op == "Less" || op == "LessOrEqual" || op == "Greater" || op == "GreaterOrEqual";
}
bool is_logic(std::string_view op) { return op == "And" || op == "Or" || op == "Xor"; }
bool is_arithmetic(std::string_view op) {
  return op == "Add" || op == "Sub" || op == "Mul" || op == "Max" || op == "Min";
}

std::optional<Refusal> supports_plain(const KernelQuery& query) {
  const std::string_view op = query.op.name;
  if (query.inputs.size() != 2) return "takes two inputs";
  const DType type = query.inputs[0].dtype;
  if (is_logic(op)) return std::nullopt;
  const bool integer = type == DType::kInt64 || type == DType::kInt32;
  if (is_compare(op) && (integer || type == DType::kFloat32)) return std::nullopt;
  if (is_arithmetic(op) && integer) return std::nullopt;
  if (op == "Pow" && type == DType::kFloat32 && query.inputs[1].dtype == DType::kFloat32) return std::nullopt;
  return Refusal("no loop for ") + std::string(ir::dtype_name(type));
}

// The exponents that models use are products and roots.
float power(float x, float y) {
  if (y == 2.0f) return x * x;
  if (y == 3.0f) return x * x * x;
  return std::pow(x, y);
}

Result<std::unique_ptr<Kernel>> prepare_plain(const PrepareContext& context) {
  const KernelQuery& query = context.query;
  const std::string_view op = query.op.name;
  const DType type = query.inputs[0].dtype;
  if (op == "And") return make_loop<bool, bool>(query, 1, [](bool x, bool y) { return x && y; });
  if (op == "Or") return make_loop<bool, bool>(query, 1, [](bool x, bool y) { return x || y; });
  if (op == "Xor") return make_loop<bool, bool>(query, 1, [](bool x, bool y) { return x != y; });
  if (op == "Pow") return make_loop<float, float>(query, 10, [](float x, float y) { return power(x, y); });
  if (is_compare(op) && type == DType::kFloat32) return prepare_compare<float>(query);
  if (is_compare(op)) return type == DType::kInt64 ? prepare_compare<int64_t>(query) : prepare_compare<int32_t>(query);
  return type == DType::kInt64 ? prepare_integer<int64_t>(query) : prepare_integer<int32_t>(query);
}

}  // namespace

const KernelDef kBinary{
    .name = "vector.binary", .supports = supports, .prepare = prepare, .in_place_input = over_full_operand};
const KernelDef kPlainBinary{.name = "loop.binary", .supports = supports_plain, .prepare = prepare_plain};

}  // namespace tutti::cpu
