#include "ops/conv.h"
#include "ops/tensor_rules.h"

namespace tutti::ops {

using namespace ir;

namespace {

Status check_group(int64_t group) {
  if (group >= 1 && group <= INT32_MAX) return ok_status();
  return make_error(Code::kInvalidModel, "attribute group is {}, expected 1 or more", group);
}

Status check_channels(const Dim& channels, const Dim& filters, const Dim& weight_channels, int64_t group) {
  TUTTI_TRY(require_equal(weight_channels * Dim(group), channels, "the number of W's input channels times group"));
  if (const auto known = filters.constant(); known && *known % group != 0)
    return make_error(Code::kInvalidModel, "W has {} filters, expected a multiple of group {}", *known, group);
  return ok_status();
}

// The kernel's extents from the attribute or W; nothing where neither is known.
Result<std::vector<std::optional<int64_t>>> known_kernel(const WindowAttrs& window, const std::optional<Shape>& w,
                                                         size_t spatial) {
  std::vector<std::optional<int64_t>> kernel(spatial);
  if (!window.kernel_shape.empty() && window.kernel_shape.size() != spatial)
    return make_error(Code::kInvalidModel, "attribute kernel_shape has {} values, expected {}, one per spatial axis",
                      window.kernel_shape.size(), spatial);
  for (size_t i = 0; i < spatial; ++i) {
    if (w) kernel[i] = (*w)[i + 2].constant();
    if (window.kernel_shape.empty()) continue;
    if (kernel[i] && *kernel[i] != window.kernel_shape[i])
      return make_error(Code::kInvalidModel, "attribute kernel_shape has {} on spatial axis {}, W has shape {}",
                        window.kernel_shape[i], i, shape_text(*w));
    kernel[i] = window.kernel_shape[i];
  }
  return kernel;
}

}  // namespace

Result<std::optional<Shape>> infer_conv_shape(InferContext& context, const WindowAttrs& window, int64_t group,
                                              int weight_input) {
  TUTTI_TRY(check_group(group));
  const std::optional<Shape>&x = context.shape(0), &w = context.shape(weight_input);
  if (!x) return std::optional<Shape>();
  if (x->size() < 3)
    return make_error(Code::kInvalidModel, "X has shape {}, expected [batch, channels, spatial...]", shape_text(*x));
  TUTTI_TRY(require_rank(context, weight_input, static_cast<int64_t>(x->size()), "W"));
  const size_t spatial = x->size() - 2;
  const Dim filters = w ? (*w)[0] : context.fresh_dim("filters");
  if (w) TUTTI_TRY(check_channels((*x)[1], filters, (*w)[1], group));
  const auto kernel = TUTTI_TRY(known_kernel(window, w, spatial));
  std::vector<int64_t> extents;
  for (const auto& extent : kernel) extents.push_back(extent.value_or(1));
  const auto axes = TUTTI_TRY(window_axes(window, extents, static_cast<int64_t>(spatial)));
  Shape out{(*x)[0], filters};
  for (size_t i = 0; i < spatial; ++i) {
    const bool same = window.auto_pad == AutoPad::kSameUpper || window.auto_pad == AutoPad::kSameLower;
    if (kernel[i] || same)
      out.push_back(TUTTI_TRY(window_count((*x)[i + 2], axes[i], {window.auto_pad, false})
                                  .with_context(fmt::format("spatial axis {}", i))));
    else
      out.push_back(context.fresh_dim("conv"));
  }
  return std::optional(out);
}

Result<ConvPlan> plan_conv(const WindowAttrs& window, int64_t group, const Dims& x, const Dims& w) {
  TUTTI_TRY(check_group(group));
  if (x.size() < 3 || w.size() != x.size())
    return make_error(Code::kInvalidInput, "X and W have shapes {} and {}, expected equal ranks of 3 or more",
                      dims_text(x), dims_text(w));
  TUTTI_TRY(check_channels(Dim(x[1]), Dim(w[0]), Dim(w[1]), group));
  const std::span<const int64_t> kernel(w.data() + 2, w.size() - 2);
  if (!window.kernel_shape.empty() &&
      !std::equal(kernel.begin(), kernel.end(), window.kernel_shape.begin(), window.kernel_shape.end()))
    return make_error(Code::kInvalidInput, "W has shape {}, expected the kernel {}", dims_text(w),
                      dims_text(window.kernel_shape));
  ConvPlan plan;
  plan.axes = TUTTI_TRY(plan_windows(window, kernel, std::span(x.data() + 2, x.size() - 2), false));
  plan.batch = x[0];
  plan.channels = x[1];
  plan.filters = w[0];
  plan.group = group;
  plan.out_dims = {x[0], w[0]};
  for (const WindowPlan& axis : plan.axes) plan.out_dims.push_back(axis.out);
  TUTTI_TRY(checked_element_count(plan.out_dims));
  return plan;
}

}  // namespace tutti::ops
