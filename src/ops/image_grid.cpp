#include "ops/image_grid.h"

#include <algorithm>

#include "ops/compute_view.h"
#include "ops/patches.h"
#include "ops/tensor_rules.h"

namespace tutti::ops {

using namespace ir;

namespace {

// --- AffineGrid

Status infer_affine_grid(InferContext& context) {
  TUTTI_TRY(require_float(context, 0, "theta"));
  TUTTI_TRY(require_rank(context, 0, 3, "theta"));
  if (context.dtype(1) != DType::kInt64)
    return make_error(Code::kInvalidModel, "size has element type {}, expected int64", dtype_name(context.dtype(1)));
  const auto size = context.dims_value(1);
  if (!size) {
    context.set_output_unranked(0, context.dtype(0));
    return ok_status();
  }
  if (size->size() != 4 && size->size() != 5)
    return make_error(Code::kInvalidModel, "size has {} values, expected 4 (N, C, H, W) or 5 (N, C, D, H, W)",
                      size->size());
  const auto spatial = static_cast<int64_t>(size->size()) - 2;
  if (context.shape(0)) {
    TUTTI_TRY(require_equal((*context.shape(0))[0], (*size)[0], "the batch of theta"));
    TUTTI_TRY(require_equal((*context.shape(0))[1], Dim(spatial), "the number of rows of theta"));
    TUTTI_TRY(require_equal((*context.shape(0))[2], Dim(spatial + 1), "the number of columns of theta"));
  }
  Shape out{(*size)[0]};
  out.insert(out.end(), size->begin() + 2, size->end());
  out.push_back(Dim(spatial));
  context.set_output(0, context.dtype(0), std::move(out));
  return ok_status();
}

double grid_coordinate(int64_t i, int64_t extent, bool align_corners) {
  const auto at = static_cast<double>(i), length = static_cast<double>(extent);
  if (align_corners) return extent > 1 ? -1 + 2 * at / (length - 1) : -1;
  return -1 + (2 * at + 1) / length;
}

Status eval_affine_grid(EvalContext& context) {
  const bool align = context.attrs<AffineGridAttrs>().align_corners;
  const Tensor& theta = context.input(0);
  const std::vector<int64_t> size = context.input(1).to_int64();
  if (size.size() != 4 && size.size() != 5)
    return make_error(Code::kInvalidInput, "size has {} values, expected 4 or 5", size.size());
  const auto rank = static_cast<int64_t>(size.size()) - 2;
  TUTTI_TRY(require_dims(theta, {size[0], rank, rank + 1}, "theta"));
  Dims out_dims{size[0]};
  out_dims.insert(out_dims.end(), size.begin() + 2, size.end());
  const Dims spatial(out_dims.begin() + 1, out_dims.end());
  out_dims.push_back(rank);
  TUTTI_TRY(checked_element_count(out_dims).with_context("size"));
  Tensor* out = TUTTI_TRY(context.output(0, theta.dtype(), out_dims));
  if (out->size() == 0) return ok_status();
  with_compute_type(theta.dtype(), [&]<class C>() {
    const ComputeView<C> view(theta);
    ComputeBuffer<C> buffer(out);
    C* to = buffer.data();
    for (int64_t n = 0; n < size[0]; ++n) {
      std::vector<int64_t> at(spatial.size(), 0);
      do {
        for (int64_t row = 0; row < rank; ++row) {
          const C* factors = view.data() + (n * rank + row) * (rank + 1);
          double sum = static_cast<double>(factors[rank]);
          for (int64_t k = 0; k < rank; ++k) {  // theta's columns are x, y, z: the innermost axis first
            const auto axis = static_cast<size_t>(rank - 1 - k);
            sum += static_cast<double>(factors[k]) * grid_coordinate(at[axis], spatial[axis], align);
          }
          *to++ = static_cast<C>(sum);
        }
      } while (next_index(at, spatial));
    }
    buffer.store();
  });
  return ok_status();
}

// --- Col2Im

WindowAttrs window_of(const Col2ImAttrs& attrs) {
  return {AutoPad::kNotSet, attrs.dilations, {}, attrs.pads, attrs.strides};
}

Status infer_col2im(InferContext& context) {
  TUTTI_TRY(require_rank(context, 0, 3, "input"));
  const auto& x = context.shape(0);
  const auto image = context.dims_value(1);
  const auto block = context.ints_value(2);
  if (!image) {
    context.set_output_unranked(0, context.dtype(0));
    return ok_status();
  }
  Dim channels = context.fresh_dim("channels");
  if (block) {
    TUTTI_TRY(window_axes(window_of(context.attrs<Col2ImAttrs>()), *block, static_cast<int64_t>(image->size()))
                  .with_context("block_shape"));
    const int64_t block_size = TUTTI_TRY(checked_element_count(*block));
    if (x) {
      if (const auto rows = (*x)[1].constant(); rows && *rows % block_size != 0)
        return make_error(Code::kInvalidModel, "input has {} rows, expected a multiple of the block's {} elements",
                          *rows, block_size);
      channels = Dim::floor_div((*x)[1], Dim(block_size));
    }
  }
  Shape out{x ? (*x)[0] : context.fresh_dim("batch"), channels};
  out.insert(out.end(), image->begin(), image->end());
  context.set_output(0, context.dtype(0), std::move(out));
  return ok_status();
}

Status eval_col2im(EvalContext& context) {
  const Tensor& x = context.input(0);
  TUTTI_TRY(require_equal(x.rank(), 3, "the rank of input"));
  const Dims image = context.input(1).to_int64(), block = context.input(2).to_int64();
  if (image.empty())
    return make_error(Code::kInvalidInput, "image_shape is empty, expected one value per spatial axis");
  TUTTI_TRY(checked_element_count(image).with_context("image_shape"));
  const auto axes =
      TUTTI_TRY(plan_windows(window_of(context.attrs<Col2ImAttrs>()), block, image, false).with_context("block_shape"));
  int64_t blocks = 1;
  for (const WindowPlan& axis : axes) blocks *= axis.out;
  TUTTI_TRY(require_equal(x.dim(2), blocks, "the number of blocks of input"));
  const int64_t block_size = kernel_size(axes), channels = x.dim(1) / block_size;
  TUTTI_TRY(require_equal(x.dim(1) % block_size, 0, "the remainder of input's rows by the block's elements"));
  Dims out_dims{x.dim(0), channels};
  out_dims.insert(out_dims.end(), image.begin(), image.end());
  if (!is_compute_float(x.dtype()) && !is_integer(x.dtype()))
    return make_error(Code::kUnsupported, "no kernel for element type {}, expected a number", dtype_name(x.dtype()));
  Tensor* out = TUTTI_TRY(context.output(0, x.dtype(), out_dims));
  with_compute_type(x.dtype(), [&]<class C>() {
    const ComputeView<C> view(x);
    ComputeBuffer<C> buffer(out);
    std::fill_n(buffer.data(), out->size(), C(0));
    const int64_t size = channels * element_count(image), columns = x.dim(1) * x.dim(2);
    for (int64_t n = 0; n < x.dim(0); ++n)
      scatter_patches(view.data() + n * columns, channels, std::span(axes), buffer.data() + n * size);
    buffer.store();
  });
  return ok_status();
}

}  // namespace

const OpDef kAffineGrid{.name = "AffineGrid",
                        .min_inputs = 2,
                        .max_inputs = 2,
                        .make_attrs = make_attrs<AffineGridAttrs>,
                        .infer = infer_affine_grid,
                        .eval = eval_affine_grid};
const OpDef kCol2Im{.name = "Col2Im",
                    .min_inputs = 3,
                    .max_inputs = 3,
                    .make_attrs = make_attrs<Col2ImAttrs>,
                    .infer = infer_col2im,
                    .eval = eval_col2im};

}  // namespace tutti::ops
