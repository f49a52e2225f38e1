// Cast between numbers of whole bytes and bool: floats truncate toward zero, integers keep their low bits.
#include <cmath>
#include <limits>

#include "backends/cpu/kernels/common.h"
#include "backends/cpu/kernels/kernels.h"
#include "ops/dispatch.h"

namespace tutti::cpu {
namespace {

// What does not fit is the least int64, as the reference has it: C++ leaves it undefined.
template <class F>
int64_t truncated(F value) {
  const bool fits = value >= F(-9223372036854775808.0) && value < F(9223372036854775808.0);
  return fits ? static_cast<int64_t>(value) : std::numeric_limits<int64_t>::min();
}

template <class From, class To>
To converted(From element) {
  const auto value = ops::load(element);
  if constexpr (std::is_same_v<To, bool>)
    return value != decltype(value)(0);
  else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<decltype(ops::load(element))>)
    return static_cast<To>(truncated(value));
  else
    return ops::store<To>(value);
}

using Convert = void (*)(const void* src, void* dst, int64_t begin, int64_t end);

template <class From, class To>
void convert(const void* src, void* dst, int64_t begin, int64_t end) {
  const From* from = static_cast<const From*>(src);
  To* to = static_cast<To*>(dst);
  for (int64_t i = begin; i < end; ++i) to[i] = converted<From, To>(from[i]);
}

template <class From>
Convert convert_from(DType to) {
  switch (to) {
    case DType::kFloat32: return convert<From, float>;
    case DType::kFloat64: return convert<From, double>;
    case DType::kFloat16: return convert<From, Half>;
    case DType::kBFloat16: return convert<From, BFloat16>;
    case DType::kInt8:
    case DType::kUInt8: return convert<From, uint8_t>;
    case DType::kInt16:
    case DType::kUInt16: return convert<From, uint16_t>;
    case DType::kInt32:
    case DType::kUInt32: return convert<From, uint32_t>;
    case DType::kInt64: return convert<From, int64_t>;
    case DType::kBool: return convert<From, bool>;
    default: return nullptr;
  }
}

// Null for pairs that have no loop.
Convert convert_of(DType from, DType to) {
  switch (from) {
    case DType::kFloat32: return convert_from<float>(to);
    case DType::kFloat64: return convert_from<double>(to);
    case DType::kFloat16: return convert_from<Half>(to);
    case DType::kBFloat16: return convert_from<BFloat16>(to);
    case DType::kInt8: return convert_from<int8_t>(to);
    case DType::kUInt8: return convert_from<uint8_t>(to);
    case DType::kInt16: return convert_from<int16_t>(to);
    case DType::kUInt16: return convert_from<uint16_t>(to);
    case DType::kInt32: return convert_from<int32_t>(to);
    case DType::kUInt32: return convert_from<uint32_t>(to);
    case DType::kInt64: return convert_from<int64_t>(to);
    case DType::kBool: return convert_from<bool>(to);
    default: return nullptr;
  }
}

std::optional<Refusal> supports(const KernelQuery& query) {
  if (convert_of(query.inputs[0].dtype, query.outputs[0].dtype) != nullptr) return std::nullopt;
  return "no loop from " + std::string(ir::dtype_name(query.inputs[0].dtype)) + " to " +
         std::string(ir::dtype_name(query.outputs[0].dtype));
}

Result<std::unique_ptr<Kernel>> prepare(const PrepareContext& context) {
  const int64_t count = product(context.query.inputs[0].dims);
  const Convert f = convert_of(context.query.inputs[0].dtype, context.query.outputs[0].dtype);
  return make_kernel([count, f](const RunContext& c) {
    split(c.threads, count, 1, [&](int64_t begin, int64_t end) { f(c.inputs[0], c.outputs[0], begin, end); });
    return ok_status();
  });
}

}  // namespace

const KernelDef kCast{.name = "loop.cast", .supports = supports, .prepare = prepare};

}  // namespace tutti::cpu
