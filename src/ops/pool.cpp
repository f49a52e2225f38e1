#include "ops/pool.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/compute_view.h"
#include "ops/tensor_rules.h"

namespace tutti::ops {

using namespace ir;

Result<std::optional<Shape>> pooled_shape(const std::optional<Shape>& x, const WindowAttrs& window, bool ceil) {
  if (window.kernel_shape.empty())
    return make_error(Code::kInvalidModel, "attribute kernel_shape is empty, expected one value per spatial axis");
  if (!x) return std::optional<Shape>();
  if (x->size() < 3)
    return make_error(Code::kInvalidModel, "X has shape {}, expected [batch, channels, spatial...]", shape_text(*x));
  const auto axes = TUTTI_TRY(window_axes(window, window.kernel_shape, static_cast<int64_t>(x->size()) - 2));
  Shape out{(*x)[0], (*x)[1]};
  for (size_t i = 0; i < axes.size(); ++i)
    out.push_back(TUTTI_TRY(
        window_count((*x)[i + 2], axes[i], {window.auto_pad, ceil}).with_context(fmt::format("spatial axis {}", i))));
  return std::optional(out);
}

namespace {

template <class A>
Status infer_window_pool(InferContext& context) {
  const auto& attrs = context.attrs<A>();
  TUTTI_TRY(require_float(context, 0, "X"));
  context.set_output(
      0, ValueType::tensor(context.dtype(0), TUTTI_TRY(pooled_shape(context.shape(0), attrs, attrs.ceil_mode))));
  return ok_status();
}

Status infer_max_pool(InferContext& context) {
  const auto& attrs = context.attrs<MaxPoolAttrs>();
  const DType dtype = context.dtype(0);
  if (dtype != DType::kInt8 && dtype != DType::kUInt8) TUTTI_TRY(require_float(context, 0, "X"));
  if (attrs.storage_order != 0 && attrs.storage_order != 1)
    return make_error(Code::kInvalidModel, "attribute storage_order is {}, expected 0 or 1", attrs.storage_order);
  const auto shape = TUTTI_TRY(pooled_shape(context.shape(0), attrs, attrs.ceil_mode));
  context.set_output(0, ValueType::tensor(dtype, shape));
  context.set_output(1, ValueType::tensor(DType::kInt64, shape));
  return ok_status();
}

Status infer_lp_pool(InferContext& context) {
  if (context.attrs<LpPoolAttrs>().p < 1)
    return make_error(Code::kInvalidModel, "attribute p is {}, expected 1 or more", context.attrs<LpPoolAttrs>().p);
  return infer_window_pool<LpPoolAttrs>(context);
}

struct PoolPlan {
  std::vector<WindowPlan> axes;
  Dims in, out, out_dims;
  int64_t images = 0, in_size = 1;
};

Result<PoolPlan> plan_pool(const Tensor& x, const WindowAttrs& window, bool ceil) {
  TUTTI_TRY(require_rank_at_least(x, 3, "X"));
  PoolPlan plan;
  plan.in.assign(x.dims().begin() + 2, x.dims().end());
  plan.axes = TUTTI_TRY(plan_windows(window, window.kernel_shape, plan.in, ceil));
  plan.out_dims = {x.dim(0), x.dim(1)};
  for (const WindowPlan& axis : plan.axes) {
    plan.out.push_back(axis.out);
    plan.out_dims.push_back(axis.out);
    plan.in_size *= axis.in;
  }
  TUTTI_TRY(checked_element_count(plan.out_dims));
  plan.images = x.dim(0) * x.dim(1);
  return plan;
}

// The part of one window that lies inside the input, as a box of input positions with steps, and what it counts with
// padding.
struct Window {
  std::vector<int64_t> first, steps, count;
  int64_t elements = 1, padded_elements = 1;
};

void place_window(const PoolPlan& plan, const std::vector<int64_t>& at, Window& window) {
  window.elements = window.padded_elements = 1;
  for (size_t d = 0; d < at.size(); ++d) {
    const WindowPlan& axis = plan.axes[d];
    const int64_t start = at[d] * axis.stride - axis.pad_begin;
    const int64_t skipped = start >= 0 ? 0 : (-start + axis.dilation - 1) / axis.dilation;
    const auto below = [&](int64_t limit) {
      return limit <= start ? 0 : std::min(axis.kernel, (limit - start + axis.dilation - 1) / axis.dilation);
    };
    window.first[d] = start + skipped * axis.dilation;
    window.steps[d] = axis.dilation;
    window.count[d] = std::max<int64_t>(below(axis.in) - skipped, 0);
    window.elements *= window.count[d];
    window.padded_elements *= below(axis.in + axis.pad_end);
  }
}

// Calls body(output offset within an image, window) for each output position.
template <class Body>
void for_each_window(const PoolPlan& plan, Body&& body) {
  if (element_count(plan.out) == 0) return;
  const size_t rank = plan.axes.size();
  std::vector<int64_t> at(rank, 0);
  Window window{std::vector<int64_t>(rank), std::vector<int64_t>(rank), std::vector<int64_t>(rank)};
  int64_t offset = 0;
  do {
    place_window(plan, at, window);
    body(offset++, window);
  } while (next_index(at, plan.out));
}

// Calls body(input offset within an image) for each element of the window, in row-major order.
template <class Body>
void for_each_element(const Window& window, const Dims& in, Body&& body) {
  if (window.elements == 0) return;
  const size_t last = in.size() - 1;
  std::vector<int64_t> k(in.size(), 0);
  const std::span<const int64_t> outer(window.count.data(), last);
  do {
    int64_t offset = 0;
    for (size_t d = 0; d < last; ++d) offset = (offset + window.first[d] + k[d] * window.steps[d]) * in[d + 1];
    offset += window.first[last];
    for (int64_t i = 0; i < window.count[last]; ++i) body(offset + i * window.steps[last]);
  } while (next_index(k, outer));
}

int64_t column_major(int64_t offset, const Dims& in) {
  int64_t result = 0, stride = element_count(in);
  for (size_t d = in.size(); d-- > 0;) {
    stride /= in[d];
    result += offset % in[d] * stride;
    offset /= in[d];
  }
  return result;
}

double lowest_value(DType dtype) {
  if (dtype == DType::kInt8) return -128;
  if (dtype == DType::kUInt8) return 0;
  return -std::numeric_limits<double>::infinity();
}

Status eval_max_pool(EvalContext& context) {
  const auto& attrs = context.attrs<MaxPoolAttrs>();
  const Tensor& x = context.input(0);
  const PoolPlan plan = TUTTI_TRY(plan_pool(x, attrs, attrs.ceil_mode));
  Tensor* y = TUTTI_TRY(context.output(0, x.dtype(), plan.out_dims));
  Tensor* indices = context.wants_output(1) ? TUTTI_TRY(context.output(1, DType::kInt64, plan.out_dims)) : nullptr;
  with_compute_type(x.dtype(), [&]<class C>() {
    const ComputeView<C> view(x);
    ComputeBuffer<C> buffer(y);
    const int64_t out_size = element_count(plan.out);
    for_each_window(plan, [&](int64_t o, const Window& window) {
      for (int64_t image = 0; image < plan.images; ++image) {
        const C* from = view.data() + image * plan.in_size;
        C best = static_cast<C>(lowest_value(x.dtype()));
        int64_t at = -1;
        for_each_element(window, plan.in, [&](int64_t i) {
          if (at >= 0 && !(from[i] > best) && !std::isnan(from[i])) return;
          if (at >= 0 && std::isnan(best)) return;
          best = from[i];
          at = i;
        });
        buffer.data()[image * out_size + o] = best;
        if (!indices) continue;
        const int64_t index =
            at < 0 ? -1 : image * plan.in_size + (attrs.storage_order == 0 ? at : column_major(at, plan.in));
        indices->mutable_data<int64_t>()[static_cast<size_t>(image * out_size + o)] = index;
      }
    });
    buffer.store();
  });
  return ok_status();
}

// Reduces every window by `combine` over its elements and `finish` once.
template <class Combine, class Finish>
Status eval_sum_pool(EvalContext& context, const PoolPlan& plan, Combine&& combine, Finish&& finish) {
  const Tensor& x = context.input(0);
  Tensor* y = TUTTI_TRY(context.output(0, x.dtype(), plan.out_dims));
  with_compute_type(x.dtype(), [&]<class C>() {
    const ComputeView<C> view(x);
    ComputeBuffer<C> buffer(y);
    const int64_t out_size = element_count(plan.out);
    for_each_window(plan, [&](int64_t o, const Window& window) {
      for (int64_t image = 0; image < plan.images; ++image) {
        const C* from = view.data() + image * plan.in_size;
        double sum = 0;
        for_each_element(window, plan.in, [&](int64_t i) { sum += combine(static_cast<double>(from[i])); });
        buffer.data()[image * out_size + o] = static_cast<C>(finish(sum, window));
      }
    });
    buffer.store();
  });
  return ok_status();
}

Status eval_average_pool(EvalContext& context) {
  const auto& attrs = context.attrs<AveragePoolAttrs>();
  const PoolPlan plan = TUTTI_TRY(plan_pool(context.input(0), attrs, attrs.ceil_mode));
  const bool padded = attrs.count_include_pad;
  return eval_sum_pool(
      context, plan, [](double v) { return v; },
      [padded](double sum, const Window& window) {
        const int64_t count = padded ? window.padded_elements : window.elements;
        return count == 0 ? 0.0 : sum / static_cast<double>(count);
      });
}

Status eval_lp_pool(EvalContext& context) {
  const auto& attrs = context.attrs<LpPoolAttrs>();
  const PoolPlan plan = TUTTI_TRY(plan_pool(context.input(0), attrs, attrs.ceil_mode));
  const auto p = static_cast<double>(attrs.p);
  return eval_sum_pool(
      context, plan, [p](double v) { return std::pow(std::fabs(v), p); },
      [p](double sum, const Window&) { return std::pow(sum, 1 / p); });
}

}  // namespace

const OpDef kMaxPool{.name = "MaxPool",
                     .min_inputs = 1,
                     .max_inputs = 1,
                     .max_outputs = 2,
                     .make_attrs = make_attrs<MaxPoolAttrs>,
                     .infer = infer_max_pool,
                     .eval = eval_max_pool,
                     .tolerance = Tolerance::kExact};
const OpDef kAveragePool{.name = "AveragePool",
                         .min_inputs = 1,
                         .max_inputs = 1,
                         .make_attrs = make_attrs<AveragePoolAttrs>,
                         .infer = infer_window_pool<AveragePoolAttrs>,
                         .eval = eval_average_pool};
const OpDef kLpPool{.name = "LpPool",
                    .min_inputs = 1,
                    .max_inputs = 1,
                    .make_attrs = make_attrs<LpPoolAttrs>,
                    .infer = infer_lp_pool,
                    .eval = eval_lp_pool,
                    .tolerance = Tolerance::kApproximate};

}  // namespace tutti::ops
