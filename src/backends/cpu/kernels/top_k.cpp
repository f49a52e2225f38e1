// TopK along any axis: better values first, NaN best of all when the largest are wanted, equal values by index.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "backends/cpu/kernels/common.h"
#include "backends/cpu/kernels/kernels.h"
#include "ops/search.h"

namespace tutti::cpu {
namespace {

struct TopK {
  AxisView view;
  int64_t k = 0;
  bool largest = true;

  int64_t lines() const { return view.outer * view.inner; }
  double cost() const { return 6.0 * static_cast<double>(view.length) + 20.0 * static_cast<double>(k) + 20; }
  // Each range of lines has its own list of the line's indices.
  size_t workspace() const {
    const int64_t range = range_length(lines(), cost());
    return static_cast<size_t>((lines() + range - 1) / range * view.length) * sizeof(int32_t);
  }
};

template <class T>
class Order {
 public:
  Order(const T* line, int64_t stride, bool largest) : line_(line), stride_(stride), largest_(largest) {}
  bool operator()(int32_t a, int32_t b) const {
    const T p = line_[a * stride_], q = line_[b * stride_];
    if constexpr (std::is_floating_point_v<T>)
      if (std::isnan(p) || std::isnan(q)) return std::isnan(p) == std::isnan(q) ? a < b : std::isnan(p) == largest_;
    return p == q ? a < b : (p > q) == largest_;
  }

 private:
  const T* line_;
  int64_t stride_;
  bool largest_;
};

template <class T>
void select_line(const TopK& t, const RunContext& c, int64_t line, int32_t* order) {
  const int64_t o = line / t.view.inner, i = line % t.view.inner;
  const T* src = input<T>(c, 0) + o * t.view.length * t.view.inner + i;
  std::iota(order, order + t.view.length, 0);
  const Order<T> before(src, t.view.inner, t.largest);
  if (t.k < t.view.length) std::nth_element(order, order + t.k, order + t.view.length, before);
  std::sort(order, order + t.k, before);
  T* values = output<T>(c, 0);
  int64_t* indices = output<int64_t>(c, 1);
  for (int64_t e = 0; e < t.k; ++e) {
    const int64_t to = (o * t.k + e) * t.view.inner + i;
    if (values != nullptr) values[to] = src[order[e] * t.view.inner];
    if (indices != nullptr) indices[to] = order[e];
  }
}

template <class T>
Result<std::unique_ptr<Kernel>> make(const TopK& t) {
  return make_kernel(
      [t](const RunContext& c) {
        const int64_t range = range_length(t.lines(), t.cost());
        split(c.threads, t.lines(), t.cost(), [&](int64_t begin, int64_t end) {
          int32_t* order = static_cast<int32_t*>(c.workspace) + begin / range * t.view.length;
          for (int64_t line = begin; line < end; ++line) select_line<T>(t, c, line, order);
        });
        return ok_status();
      },
      t.workspace());
}

std::optional<Refusal> supports(const KernelQuery& query) {
  if (query.inputs[0].dims.empty()) return "a scalar";
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
  const auto& attrs = query.attributes<ops::TopKAttrs>();
  const Dims& dims = query.inputs[0].dims;
  const size_t axis = positive_axis(attrs.axis, dims.size());
  const TensorDesc& out = query.outputs[0].present() ? query.outputs[0] : query.outputs[1];
  const TopK t{axis_view(dims, axis), out.dims[axis], attrs.largest};
  if (t.view.length > std::numeric_limits<int32_t>::max() || t.k > t.view.length)
    return Error(Code::kUnsupported, "an axis of more than 2^31 elements");
  if (product(out.dims) == 0) return make_kernel([](const RunContext&) { return ok_status(); });
  switch (query.inputs[0].dtype) {
    case DType::kFloat32: return make<float>(t);
    case DType::kFloat64: return make<double>(t);
    case DType::kInt32: return make<int32_t>(t);
    default: return make<int64_t>(t);
  }
}

}  // namespace

const KernelDef kTopK{.name = "loop.top_k", .supports = supports, .prepare = prepare};

}  // namespace tutti::cpu
