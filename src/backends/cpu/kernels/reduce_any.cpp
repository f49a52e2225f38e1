// Reductions that the vector kernel does not take: axes that are not neighbours, other types, other folds. Floats are
// folded in double, integers wrap.
#include <cmath>
#include <limits>

#include "backends/cpu/kernels/broadcast_plan.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/reduced_axes.h"

namespace tutti::cpu {
namespace {

// The element type's total: floats in double, everything else in 64 bits without sign.
template <class T>
using TotalOf = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;

template <class T>
TotalOf<T> magnitude(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return std::fabs(static_cast<double>(x));
  else
    return x < T(0) ? -static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
}

// Integers leave 64 bits by their sign.
template <class T>
T narrow(TotalOf<T> total) {
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(total);
  else
    return static_cast<T>(static_cast<int64_t>(total));
}

// Each fold: the start, one step, and what becomes of the total of `count` elements.
template <class T>
struct Sum {
  using Total = TotalOf<T>;
  static Total start() { return Total(0); }
  static Total step(Total t, T x) { return t + static_cast<Total>(x); }
  static T finish(Total t, int64_t) { return narrow<T>(t); }
};
template <class T>
struct Mean : Sum<T> {
  static T finish(TotalOf<T> t, int64_t count) {
    if constexpr (std::is_floating_point_v<T>)
      return static_cast<T>(t / static_cast<double>(count));
    else
      return count == 0 ? T(0) : static_cast<T>(static_cast<int64_t>(t) / count);
  }
};
template <class T>
struct LogSum : Sum<T> {
  static T finish(double t, int64_t) { return static_cast<T>(std::log(t)); }
};
template <class T>
struct L1 : Sum<T> {
  static TotalOf<T> step(TotalOf<T> t, T x) { return t + magnitude(x); }
};
template <class T>
struct SumSquare : Sum<T> {
  static TotalOf<T> step(TotalOf<T> t, T x) { return t + static_cast<TotalOf<T>>(x) * static_cast<TotalOf<T>>(x); }
};
template <class T>
struct L2 : SumSquare<T> {
  static T finish(TotalOf<T> t, int64_t) {
    if constexpr (std::is_floating_point_v<T>)
      return static_cast<T>(std::sqrt(t));
    else
      return static_cast<T>(std::sqrt(static_cast<double>(static_cast<int64_t>(t))));
  }
};
template <class T>
struct Product {
  using Total = TotalOf<T>;
  static Total start() { return Total(1); }
  static Total step(Total t, T x) { return t * static_cast<Total>(x); }
  static T finish(Total t, int64_t) { return narrow<T>(t); }
};
template <class T, bool kLargest>
struct Extreme {
  using Total = T;
  static T start() {
    using Limits = std::numeric_limits<T>;
    if constexpr (std::is_floating_point_v<T>)
      return kLargest ? -Limits::infinity() : Limits::infinity();
    else
      return kLargest ? Limits::lowest() : Limits::max();
  }
  static T step(T t, T x) {
    if constexpr (std::is_floating_point_v<T>)
      if (std::isnan(t) || std::isnan(x)) return std::numeric_limits<T>::quiet_NaN();
    return (kLargest ? x > t : x < t) ? x : t;
  }
  static T finish(T t, int64_t) { return t; }
};
template <class T>
struct Max : Extreme<T, true> {};
template <class T>
struct Min : Extreme<T, false> {};

// Kept axes outside, reduced axes inside.
struct Walk {
  BroadcastPlan kept, inner;
  int64_t count = 1;  // elements of one total

  double cost() const { return 1.5 * static_cast<double>(count) + 10; }
};

// f(output, offset of its first element)
template <class F>
void for_each_output(const Walk& walk, ThreadPool& threads, F&& f) {
  split(threads, walk.kept.count(), walk.cost(), [&](int64_t begin, int64_t end) {
    walk.kept.for_range(begin, end, [&](int64_t at, int64_t length, const int64_t* offsets) {
      for (int64_t i = 0; i < length; ++i) f(at + i, offsets[0] + i * walk.kept.inner_stride(0));
    });
  });
}

template <class T, class F>
void for_each_element(const Walk& walk, const T* first, F&& f) {
  walk.inner.for_range(0, walk.count, [&](int64_t, int64_t length, const int64_t* offsets) {
    const T* run = first + offsets[0];
    const int64_t stride = walk.inner.inner_stride(0);
    for (int64_t i = 0; i < length; ++i) f(run[i * stride]);
  });
}

template <class T, class Fold>
Result<std::unique_ptr<Kernel>> make_fold(const Walk& walk) {
  return make_kernel([walk](const RunContext& c) {
    for_each_output(walk, c.threads, [&](int64_t to, int64_t from) {
      auto total = Fold::start();
      for_each_element(walk, input<T>(c, 0) + from, [&](T x) { total = Fold::step(total, x); });
      output<T>(c, 0)[to] = Fold::finish(total, walk.count);
    });
    return ok_status();
  });
}

// Two passes: the maximum first, so that no exponential overflows.
template <class T>
Result<std::unique_ptr<Kernel>> make_log_sum_exp(const Walk& walk) {
  return make_kernel([walk](const RunContext& c) {
    for_each_output(walk, c.threads, [&](int64_t to, int64_t from) {
      const T* first = input<T>(c, 0) + from;
      double top = -std::numeric_limits<double>::infinity(), total = 0;
      for_each_element(walk, first, [&](T x) { top = std::isnan(x) || x > top ? x : top; });
      const double shift = std::isfinite(top) ? top : 0;
      for_each_element(walk, first, [&](T x) { total += std::exp(static_cast<double>(x) - shift); });
      output<T>(c, 0)[to] = static_cast<T>(shift + std::log(total));
    });
    return ok_status();
  });
}

template <class T>
Result<std::unique_ptr<Kernel>> make(std::string_view op, const Walk& walk) {
  if (op == "ReduceSum") return make_fold<T, Sum<T>>(walk);
  if (op == "ReduceMean" || op == "GlobalAveragePool") return make_fold<T, Mean<T>>(walk);
  if (op == "ReduceMax" || op == "GlobalMaxPool") return make_fold<T, Max<T>>(walk);
  if (op == "ReduceMin") return make_fold<T, Min<T>>(walk);
  if (op == "ReduceProd") return make_fold<T, Product<T>>(walk);
  if (op == "ReduceL1") return make_fold<T, L1<T>>(walk);
  if (op == "ReduceL2") return make_fold<T, L2<T>>(walk);
  if (op == "ReduceSumSquare") return make_fold<T, SumSquare<T>>(walk);
  if constexpr (std::is_floating_point_v<T>) {
    if (op == "ReduceLogSum") return make_fold<T, LogSum<T>>(walk);
    if (op == "ReduceLogSumExp") return make_log_sum_exp<T>(walk);
  }
  return Error(Code::kUnsupported, "no fold of this name and type");
}

template <class T>
Result<std::unique_ptr<Kernel>> make_extreme(std::string_view op, const Walk& walk) {
  if (op == "ReduceMax") return make_fold<T, Max<T>>(walk);
  if (op == "ReduceMin") return make_fold<T, Min<T>>(walk);
  return Error(Code::kUnsupported, "takes only the maximum and the minimum of this type");
}

std::optional<Refusal> supports(const KernelQuery& query) {
  if (!reduced_axes(query)) return "the axes are not known before the run";
  const DType type = query.inputs[0].dtype;
  switch (type) {
    case DType::kFloat32:
    case DType::kFloat64:
    case DType::kInt32:
    case DType::kInt64: return std::nullopt;
    case DType::kInt8:
    case DType::kUInt8:
    case DType::kBool:
      if (query.op.name == "ReduceMax" || query.op.name == "ReduceMin") return std::nullopt;
      break;
    default: break;
  }
  return "no loop for " + std::string(ir::dtype_name(type));
}

Walk walk_of(const KernelQuery& query) {
  const Dims &dims = query.inputs[0].dims, strides = ir::row_major_strides(dims);
  const std::vector<bool> reduced = *reduced_axes(query);
  Dims kept, kept_strides, inner, inner_strides;
  for (size_t i = 0; i < dims.size(); ++i) {
    (reduced[i] ? inner : kept).push_back(dims[i]);
    (reduced[i] ? inner_strides : kept_strides).push_back(strides[i]);
  }
  return {BroadcastPlan::strided(kept, {kept_strides}), BroadcastPlan::strided(inner, {inner_strides}), product(inner)};
}

Result<std::unique_ptr<Kernel>> prepare(const PrepareContext& context) {
  const KernelQuery& query = context.query;
  const Walk walk = walk_of(query);
  switch (query.inputs[0].dtype) {
    case DType::kFloat32: return make<float>(query.op.name, walk);
    case DType::kFloat64: return make<double>(query.op.name, walk);
    case DType::kInt32: return make<int32_t>(query.op.name, walk);
    case DType::kInt64: return make<int64_t>(query.op.name, walk);
    case DType::kInt8: return make_extreme<int8_t>(query.op.name, walk);
    case DType::kUInt8: return make_extreme<uint8_t>(query.op.name, walk);
    default: return make_extreme<bool>(query.op.name, walk);
  }
}

}  // namespace

const KernelDef kReduceAny{.name = "loop.reduce", .supports = supports, .prepare = prepare};

}  // namespace tutti::cpu
