#include "ops/matmul.h"

#include "ops/compute_view.h"
#include "ops/matmul_core.h"
#include "ops/tensor_rules.h"

namespace tutti::ops {

using namespace ir;

std::vector<int64_t> batch_offsets(const Dims& operand_batch, const Dims& batch, int64_t matrix_size) {
  const int64_t count = element_count(batch);
  const size_t lead = batch.size() - operand_batch.size();
  const Dims strides = row_major_strides(operand_batch);
  std::vector<int64_t> offsets(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, offset = 0;
    for (size_t d = batch.size(); d-- > 0;) {
      const int64_t at = rest % batch[d];
      rest /= batch[d];
      if (d >= lead && operand_batch[d - lead] != 1) offset += at * strides[d - lead];
    }
    offsets[static_cast<size_t>(i)] = offset * matrix_size;
  }
  return offsets;
}

Result<Shape> matmul_shape(const Shape& a, const Shape& b) {
  if (a.empty() || b.empty())
    return make_error(Code::kInvalidModel, "cannot multiply shapes {} and {}: expected rank 1 or more", shape_text(a),
                      shape_text(b));
  const Dim& inner_a = a.back();
  const Dim& inner_b = b.size() == 1 ? b[0] : b[b.size() - 2];
  if (Dim::never_equal(inner_a, inner_b))
    return make_error(Code::kInvalidModel,
                      "cannot multiply shapes {} and {}: A has {} columns and B has {} rows, expected equal numbers",
                      shape_text(a), shape_text(b), inner_a.text(), inner_b.text());
  const Shape batch_a(a.begin(), a.end() - std::min<ptrdiff_t>(2, static_cast<ptrdiff_t>(a.size())));
  const Shape batch_b(b.begin(), b.end() - std::min<ptrdiff_t>(2, static_cast<ptrdiff_t>(b.size())));
  Shape out = TUTTI_TRY(broadcast(batch_a, batch_b).with_context("batch dimensions"));
  if (a.size() > 1) out.push_back(a[a.size() - 2]);
  if (b.size() > 1) out.push_back(b.back());
  return out;
}

namespace {

Dims leading(const Dims& dims) {
  return {dims.begin(), dims.end() - std::min<ptrdiff_t>(2, static_cast<ptrdiff_t>(dims.size()))};
}

bool is_product_type(DType d) {
  return is_compute_float(d) || d == DType::kInt32 || d == DType::kUInt32 || d == DType::kInt64 || d == DType::kUInt64;
}

Status require_product_types(InferContext& context, InputNames names) {
  if (!is_product_type(context.dtype(0)))
    return make_error(Code::kInvalidModel,
                      "A has element type {}, expected a float type, int32, int64, uint32 or uint64",
                      dtype_name(context.dtype(0)));
  return require_same_types(context, names);
}

Status infer_matmul(InferContext& context) {
  TUTTI_TRY(require_product_types(context, {"A", "B"}));
  if (!context.shape(0) || !context.shape(1)) {
    context.set_output_unranked(0, context.dtype(0));
    return ok_status();
  }
  context.set_output(0, context.dtype(0), TUTTI_TRY(matmul_shape(*context.shape(0), *context.shape(1))));
  return ok_status();
}

// One batched product; operands already have rank 2 or more in `dims_a` and `dims_b`.
struct BatchedProduct {
  GemmSize size;
  MatrixLayout a, b;
  std::vector<int64_t> offsets_a, offsets_b;

  template <class T>
  void run(const T* a_data, const T* b_data, T* out) const {
    for (size_t i = 0; i < offsets_a.size(); ++i)
      multiply(size, a_data + offsets_a[i], a, b_data + offsets_b[i], b,
               out + static_cast<int64_t>(i) * size.m * size.n, size.n);
  }
};

Status run_product(const BatchedProduct& product, const Tensor& a, const Tensor& b, Tensor& out) {
  if (is_integer(out.dtype())) {
    if (dtype_bits(out.dtype()) == 32)
      product.run(a.data<uint32_t>().data(), b.data<uint32_t>().data(), out.mutable_data<uint32_t>().data());
    else
      product.run(a.data<uint64_t>().data(), b.data<uint64_t>().data(), out.mutable_data<uint64_t>().data());
    return ok_status();
  }
  with_compute_type(out.dtype(), [&]<class C>() {
    const ComputeView<C> view_a(a), view_b(b);
    ComputeBuffer<C> buffer(&out);
    product.run(view_a.data(), view_b.data(), buffer.data());
    buffer.store();
  });
  return ok_status();
}

Status eval_matmul(EvalContext& context) {
  const Tensor& a = context.input(0);
  const Tensor& b = context.input(1);
  const Dims out_dims = TUTTI_TRY(concrete(TUTTI_TRY(matmul_shape(to_shape(a.dims()), to_shape(b.dims())))));
  const int64_t m = a.rank() > 1 ? a.dim(a.rank() - 2) : 1, k = a.dim(a.rank() - 1),
                n = b.rank() > 1 ? b.dim(b.rank() - 1) : 1;
  const Dims batch = TUTTI_TRY(broadcast(leading(a.dims()), leading(b.dims())));
  BatchedProduct product{{m, n, k}, {k, 1}, {n, 1}, {0}, {0}};
  if (ir::element_count(leading(b.dims())) == 1) {  // one right side for all: the batches are just more rows
    product.size.m *= ir::element_count(batch);
  } else {
    product.offsets_a = batch_offsets(leading(a.dims()), batch, m * k);
    product.offsets_b = batch_offsets(leading(b.dims()), batch, k * n);
  }
  Tensor* out = TUTTI_TRY(context.output(0, a.dtype(), out_dims));
  return run_product(product, a, b, *out);
}

// FusedMatMul: where the matrix and batch axes of an operand stand. transBatch moves axis 0.. behind the row axis: [M,
// batch..., K].
struct OperandAxes {
  int64_t rows, columns;
  std::vector<int64_t> batch;
};

OperandAxes operand_axes(int64_t rank, bool transpose, bool transpose_batch) {
  OperandAxes axes{rank - 2, rank - 1, {}};
  if (transpose_batch && rank > 2) axes.rows = 0;
  for (int64_t i = 0; i < rank - 1; ++i)
    if (i != axes.rows) axes.batch.push_back(i);
  if (transpose) std::swap(axes.rows, axes.columns);
  return axes;
}

Shape reordered(const Shape& shape, const OperandAxes& axes) {
  Shape out;
  for (const int64_t i : axes.batch) out.push_back(shape[static_cast<size_t>(i)]);
  out.push_back(shape[static_cast<size_t>(axes.rows)]);
  out.push_back(shape[static_cast<size_t>(axes.columns)]);
  return out;
}

Result<Shape> fused_matmul_operand(const Shape& shape, bool transpose, bool transpose_batch, std::string_view name) {
  if (shape.size() >= 2)
    return reordered(shape, operand_axes(static_cast<int64_t>(shape.size()), transpose, transpose_batch));
  if (transpose_batch)
    return make_error(Code::kInvalidModel, "{} has shape {}, expected rank 2 or more with transBatch", name,
                      shape_text(shape));
  return shape;  // a vector stays a vector when transposed
}

Status infer_fused_matmul(InferContext& context) {
  const auto& attrs = context.attrs<FusedMatMulAttrs>();
  TUTTI_TRY(require_product_types(context, {"A", "B"}));
  if (!context.shape(0) || !context.shape(1)) {
    context.set_output_unranked(0, context.dtype(0));
    return ok_status();
  }
  const Shape a = TUTTI_TRY(fused_matmul_operand(*context.shape(0), attrs.transA, attrs.transBatchA, "A"));
  const Shape b = TUTTI_TRY(fused_matmul_operand(*context.shape(1), attrs.transB, attrs.transBatchB, "B"));
  context.set_output(0, context.dtype(0), TUTTI_TRY(matmul_shape(a, b)));
  return ok_status();
}

// The operand as [batch..., rows, columns], with alpha multiplied in.
template <class C>
std::vector<C> gather_operand(const Tensor& source, const Dims& dims, const OperandAxes& axes, double factor) {
  const ComputeView<C> view(source);
  const Dims strides = row_major_strides(source.dims());
  std::vector<int64_t> order = axes.batch;
  order.push_back(axes.rows);
  order.push_back(axes.columns);
  std::vector<C> out(static_cast<size_t>(source.size()));
  for (int64_t i = 0; i < source.size(); ++i) {
    int64_t rest = i, offset = 0;
    for (size_t d = dims.size(); d-- > 0;) {
      offset += rest % dims[d] * strides[static_cast<size_t>(order[d])];
      rest /= dims[d];
    }
    out[static_cast<size_t>(i)] = static_cast<C>(view[offset] * factor);
  }
  return out;
}

template <class C>
Tensor fused_operand(const Tensor& source, bool transpose, bool transpose_batch, double factor) {
  const bool vector = source.rank() < 2;
  const Tensor matrix = vector ? source.reshaped({1, source.size()}) : source;
  const OperandAxes axes = operand_axes(matrix.rank(), !vector && transpose, transpose_batch);
  const Dims dims = *to_dims(reordered(to_shape(matrix.dims()), axes));
  return Tensor::from<C>(vector ? source.dims() : dims,
                         std::span<const C>(gather_operand<C>(matrix, dims, axes, factor)));
}

Status eval_fused_matmul(EvalContext& context) {
  const auto& attrs = context.attrs<FusedMatMulAttrs>();
  const DType dtype = context.input(0).dtype();
  TUTTI_TRY(fused_matmul_operand(to_shape(context.input(0).dims()), attrs.transA, attrs.transBatchA, "A"));
  TUTTI_TRY(fused_matmul_operand(to_shape(context.input(1).dims()), attrs.transB, attrs.transBatchB, "B"));
  return with_compute_type(dtype, [&]<class C>() -> Status {
    const Datum operands[] = {fused_operand<C>(context.input(0), attrs.transA, attrs.transBatchA, attrs.alpha),
                              fused_operand<C>(context.input(1), attrs.transB, attrs.transBatchB, 1)};
    EvalContext plain({.inputs = operands, .output_count = 1});
    TUTTI_TRY(eval_matmul(plain));
    const Tensor& result = plain.outputs()[0].tensor();
    ComputeBuffer<C> buffer(TUTTI_TRY(context.output(0, dtype, result.dims())));
    std::copy(result.data<C>().begin(), result.data<C>().end(), buffer.data());
    buffer.store();
    return ok_status();
  });
}

}  // namespace

const OpDef kMatMul{.name = "MatMul", .min_inputs = 2, .max_inputs = 2, .infer = infer_matmul, .eval = eval_matmul};
const OpDef kFusedMatMul{.name = "FusedMatMul",
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .make_attrs = make_attrs<FusedMatMulAttrs>,
                         .infer = infer_fused_matmul,
                         .eval = eval_fused_matmul};

}  // namespace tutti::ops
