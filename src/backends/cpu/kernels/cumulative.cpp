// CumSum and CumProd along one axis. Floats add up in double, integers wrap.
#include "backends/cpu/kernels/common.h"
#include "backends/cpu/kernels/kernels.h"
#include "ops/reduce.h"

namespace tutti::cpu {
namespace {

struct Cumulative {
  AxisView view;
  bool exclusive = false, reverse = false;
};

constexpr int64_t kWidth = 32;  // columns whose totals run side by side

// `width` neighbouring columns, `step` elements apart along the axis.
template <class T, bool kProduct>
void scan(const Cumulative& s, const T* src, T* dst, int64_t width) {
  using Total = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
  Total totals[kWidth];
  std::fill_n(totals, width, kProduct ? Total(1) : Total(0));
  for (int64_t step = 0; step < s.view.length; ++step) {
    const int64_t at = (s.reverse ? s.view.length - 1 - step : step) * s.view.inner;
    for (int64_t i = 0; i < width; ++i) {
      const auto x = static_cast<Total>(src[at + i]);
      const Total next = kProduct ? totals[i] * x : totals[i] + x;
      dst[at + i] = static_cast<T>(s.exclusive ? totals[i] : next);
      totals[i] = next;
    }
  }
}

template <class T, bool kProduct>
Result<std::unique_ptr<Kernel>> make_scan(const Cumulative& s) {
  return make_kernel([s](const RunContext& c) {
    const int64_t stripes = (s.view.inner + kWidth - 1) / kWidth, width = std::min(kWidth, s.view.inner);
    split(c.threads, s.view.outer * stripes, 1.0 * static_cast<double>(s.view.length * width) + 5,
          [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
              const int64_t column = i % stripes * kWidth, at = i / stripes * s.view.length * s.view.inner + column;
              scan<T, kProduct>(s, input<T>(c, 0) + at, output<T>(c, 0) + at, std::min(kWidth, s.view.inner - column));
            }
          });
    return ok_status();
  });
}

template <class T>
Result<std::unique_ptr<Kernel>> make(const Cumulative& s, bool product_wanted) {
  return product_wanted ? make_scan<T, true>(s) : make_scan<T, false>(s);
}

std::optional<Refusal> supports(const KernelQuery& query) {
  if (!query.is_constant(1) || query.constants[1]->size() != 1) return "the axis is not one constant";
  switch (query.inputs[0].dtype) {
    case DType::kFloat32:
    case DType::kFloat64:
    case DType::kInt32:
    case DType::kInt64: return std::nullopt;
    default: return "no loop for " + std::string(ir::dtype_name(query.inputs[0].dtype));
  }
}

Result<std::unique_ptr<Kernel>> prepare(const PrepareContext& context) {
  const KernelQuery& query = context.query;
  const auto& attrs = query.attributes<ops::CumulativeAttrs>();
  const Dims& dims = query.inputs[0].dims;
  if (dims.empty()) return Error(Code::kUnsupported, "a scalar");
  const size_t axis = positive_axis(query.constants[1]->get_int(0), dims.size());
  if (axis >= dims.size()) return Error(Code::kUnsupported, "the axis is outside the input");
  const Cumulative s{axis_view(dims, axis), attrs.exclusive, attrs.reverse};
  const bool product_wanted = query.op.name == "CumProd";
  switch (query.inputs[0].dtype) {
    case DType::kFloat32: return make<float>(s, product_wanted);
    case DType::kFloat64: return make<double>(s, product_wanted);
    case DType::kInt32: return make<int32_t>(s, product_wanted);
    default: return make<int64_t>(s, product_wanted);
  }
}

}  // namespace

const KernelDef kCumulative{.name = "loop.cumulative", .supports = supports, .prepare = prepare};

}  // namespace tutti::cpu
