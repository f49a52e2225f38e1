#include "ops/pool.h"
#include "ops/elements.h"
#include "ops/tensor_rules.h"

namespace tutti::ops {

using namespace ir;

namespace {

// The extents that a MaxPool with these attributes had as its input.
Result<Shape> unpooled_shape(const MaxUnpoolAttrs& attrs, const Shape& x) {
  if (x.size() < 3)
    return make_error(Code::kInvalidModel, "X has shape {}, expected [batch, channels, spatial...]", shape_text(x));
  const WindowAttrs window{AutoPad::kNotSet, {}, attrs.kernel_shape, attrs.pads, attrs.strides};
  const auto axes = TUTTI_TRY(window_axes(window, attrs.kernel_shape, static_cast<int64_t>(x.size()) - 2));
  Shape out{x[0], x[1]};
  for (size_t i = 0; i < axes.size(); ++i) {
    out.push_back((x[i + 2] - Dim(1)) * Dim(axes[i].stride) +
                  Dim(axes[i].kernel - axes[i].pad_begin - axes[i].pad_end));
    if (const auto known = out.back().constant(); known && *known < 0)
      return make_error(Code::kInvalidModel, "spatial axis {} has the extent {} after unpooling, expected 0 or more", i,
                        *known);
  }
  return out;
}

Status infer_max_unpool(InferContext& context) {
  TUTTI_TRY(require_float(context, 0, "X"));
  if (context.dtype(1) != DType::kInt64)
    return make_error(Code::kInvalidModel, "I has element type {}, expected int64", dtype_name(context.dtype(1)));
  const auto& x = context.shape(0);
  if (x) TUTTI_TRY(require_rank(context, 1, static_cast<int64_t>(x->size()), "I"));
  std::optional<Shape> out;
  if (x) out = TUTTI_TRY(unpooled_shape(context.attrs<MaxUnpoolAttrs>(), *x));
  if (context.has_input(2)) {
    const auto given = context.dims_value(2);
    if (given && x && given->size() != x->size())
      return make_error(Code::kInvalidModel, "output_shape has {} values, expected {}, the rank of X", given->size(),
                        x->size());
    if (given)
      out = *given;
    else if (x)
      for (Dim& dim : *out) dim = context.fresh_dim("unpool");
  }
  context.set_output(0, ValueType::tensor(context.dtype(0), std::move(out)));
  return ok_status();
}

// Offset in a tensor of dims `to` of the element at row-major `index` of a tensor of dims `from`; nothing when it falls
// outside.
std::optional<int64_t> moved_index(int64_t index, const Dims& from, const Dims& to) {
  int64_t offset = 0, stride = 1;
  for (size_t d = from.size(); d-- > 0;) {
    const int64_t at = index % from[d];
    index /= from[d];
    if (at >= to[d]) return std::nullopt;
    offset += at * stride;
    stride *= to[d];
  }
  return offset;
}

Status eval_max_unpool(EvalContext& context) {
  const Tensor &x = context.input(0), &indices = context.input(1);
  TUTTI_TRY(require_dims(indices, x.dims(), "I"));
  const Dims pooled =
      TUTTI_TRY(concrete(TUTTI_TRY(unpooled_shape(context.attrs<MaxUnpoolAttrs>(), to_shape(x.dims())))));
  Dims out_dims = pooled;
  if (context.has_input(2)) {
    out_dims = context.input(2).to_int64();
    TUTTI_TRY(require_equal(static_cast<int64_t>(out_dims.size()), x.rank(), "the number of values of output_shape"));
    TUTTI_TRY(checked_element_count(out_dims).with_context("output_shape"));
  }
  Tensor* y = TUTTI_TRY(context.output(0, x.dtype(), out_dims));
  *y = Tensor::zeros(x.dtype(), out_dims);
  const int64_t size = element_count(pooled);
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t index = indices.get_int(i);
    if (index < 0 || index >= size)
      return make_error(Code::kInvalidInput, "I has the index {}, expected 0 to {}", index, size - 1);
    if (const auto to = moved_index(index, pooled, out_dims)) copy_element(*y, *to, x, i);
  }
  return ok_status();
}

}  // namespace

const OpDef kMaxUnpool{.name = "MaxUnpool",
                       .min_inputs = 2,
                       .max_inputs = 3,
                       .make_attrs = make_attrs<MaxUnpoolAttrs>,
                       .infer = infer_max_unpool,
                       .eval = eval_max_unpool,
                       .tolerance = Tolerance::kExact};

}  // namespace tutti::ops
