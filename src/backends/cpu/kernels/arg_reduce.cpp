// ArgMax and ArgMin. NaN counts as the best, as in numpy.
#include <cmath>

#include "backends/cpu/kernels/common.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/simd/rows.h"
#include "ops/reduce.h"

namespace tutti::cpu {
namespace {

struct ArgReduce {
  AxisView view;
  bool last = false;  // of equal elements take the last
};

template <bool kLargest, class T>
bool better(T x, T best) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(x) || std::isnan(best)) return std::isnan(x) && !std::isnan(best);
  return kLargest ? x > best : x < best;
}

template <bool kLargest, class T>
int64_t best_of_row(const T* row, int64_t length, bool last) {
  if constexpr (std::is_same_v<T, float>) {
    const float best = simd::reduce_row(kLargest ? simd::Reduction::kMax : simd::Reduction::kMin, row, length);
    const auto is_best = [best](float x) { return x == best || (std::isnan(x) && std::isnan(best)); };
    if (!last) return std::find_if(row, row + length, is_best) - row;
    for (int64_t k = length; k-- > 0;)
      if (is_best(row[k])) return k;
    return 0;
  }
  int64_t at = 0;
  for (int64_t k = 1; k < length; ++k)
    if (better<kLargest>(row[k], row[at]) || (last && !better<kLargest>(row[at], row[k]))) at = k;
  return at;
}

constexpr int64_t kWidth = 64;

// The same down `width` columns, which lie side by side.
template <bool kLargest, class T>
void best_of_columns(const ArgReduce& r, const T* src, int64_t width, int64_t* dst) {
  T best[kWidth];
  std::copy_n(src, width, best);
  std::fill_n(dst, width, 0);
  for (int64_t k = 1; k < r.view.length; ++k)
    for (int64_t i = 0; i < width; ++i) {
      const T x = src[k * r.view.inner + i];
      if (!better<kLargest>(x, best[i]) && !(r.last && !better<kLargest>(best[i], x))) continue;
      best[i] = x;
      dst[i] = k;
    }
}

template <bool kLargest, class T>
Status run(const ArgReduce& r, const RunContext& c) {
  const T* src = input<T>(c, 0);
  int64_t* dst = output<int64_t>(c, 0);
  const auto [outer, length, inner] = r.view;
  if (inner == 1) {
    split(c.threads, outer, static_cast<double>(length) + 5, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o)
        dst[o] = best_of_row<kLargest>(src + o * r.view.length, r.view.length, r.last);
    });
    return ok_status();
  }
  const int64_t stripes = (inner + kWidth - 1) / kWidth;
  split(c.threads, outer * stripes, static_cast<double>(length * kWidth), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t o = i / stripes, column = i % stripes * kWidth;
      best_of_columns<kLargest>(r, src + o * r.view.length * r.view.inner + column,
                                std::min(kWidth, r.view.inner - column), dst + o * r.view.inner + column);
    }
  });
  return ok_status();
}

template <class T>
Result<std::unique_ptr<Kernel>> make(const ArgReduce& r, bool largest) {
  if (largest) return make_kernel([r](const RunContext& c) { return run<true, T>(r, c); });
  return make_kernel([r](const RunContext& c) { return run<false, T>(r, c); });
}

std::optional<Refusal> supports(const KernelQuery& query) {
  if (product(query.inputs[0].dims) == 0) return "an empty input";
  switch (query.inputs[0].dtype) {
    case DType::kFloat32:
    case DType::kFloat64:
    case DType::kInt8:
    case DType::kUInt8:
    case DType::kInt32:
    case DType::kInt64: return std::nullopt;
    default: return "no loop for " + std::string(ir::dtype_name(query.inputs[0].dtype));
  }
}

Result<std::unique_ptr<Kernel>> prepare(const PrepareContext& context) {
  const KernelQuery& query = context.query;
  const auto& attrs = query.attributes<ops::ArgAttrs>();
  const Dims& dims = query.inputs[0].dims;
  if (dims.empty()) return Error(Code::kUnsupported, "a scalar");
  const ArgReduce r{axis_view(dims, positive_axis(attrs.axis, dims.size())), attrs.select_last_index};
  const bool largest = query.op.name == "ArgMax";
  switch (query.inputs[0].dtype) {
    case DType::kFloat32: return make<float>(r, largest);
    case DType::kFloat64: return make<double>(r, largest);
    case DType::kInt8: return make<int8_t>(r, largest);
    case DType::kUInt8: return make<uint8_t>(r, largest);
    case DType::kInt32: return make<int32_t>(r, largest);
    default: return make<int64_t>(r, largest);
  }
}

}  // namespace

const KernelDef kArgReduce{.name = "loop.arg_reduce", .supports = supports, .prepare = prepare};

}  // namespace tutti::cpu
