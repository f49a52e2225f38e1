#include "ops/compute_view.h"
#include "ops/matmul.h"
#include "ops/matmul_core.h"
#include "ops/tensor_rules.h"

namespace tutti::ops {

using namespace ir;

namespace {

struct GemmShape {
  Dim m, n, k;
};

Result<GemmShape> gemm_shape(const GemmAttrs& attrs, const Shape& a, const Shape& b) {
  if (a.size() != 2 || b.size() != 2)
    return make_error(Code::kInvalidModel, "A and B have shapes {} and {}, expected matrices", shape_text(a),
                      shape_text(b));
  const Dim &k_a = a[attrs.transA ? 0 : 1], &k_b = b[attrs.transB ? 1 : 0];
  if (Dim::never_equal(k_a, k_b))
    return make_error(Code::kInvalidModel,
                      "cannot multiply A {}{} and B {}{}: inner extents are {} and {}, expected equal numbers",
                      shape_text(a), attrs.transA ? " transposed" : "", shape_text(b),
                      attrs.transB ? " transposed" : "", k_a.text(), k_b.text());
  return GemmShape{a[attrs.transA ? 1 : 0], b[attrs.transB ? 0 : 1], k_a};
}

// C must broadcast to [m, n] without changing it.
Status check_bias(const Shape& c, const GemmShape& size) {
  const Shape target{size.m, size.n};
  const bool fits = c.size() <= 2;
  for (size_t i = 0; fits && i < c.size(); ++i) {
    const Dim& dim = c[c.size() - 1 - i];
    if (!dim.is(1) && Dim::never_equal(dim, target[1 - i]))
      return make_error(Code::kInvalidModel, "C has shape {}, expected one that broadcasts to {}", shape_text(c),
                        shape_text(target));
  }
  if (fits) return ok_status();
  return make_error(Code::kInvalidModel, "C has shape {}, expected one that broadcasts to {}", shape_text(c),
                    shape_text(target));
}

bool is_product_type(DType d) {
  return is_compute_float(d) || d == DType::kInt32 || d == DType::kUInt32 || d == DType::kInt64 || d == DType::kUInt64;
}

Status infer_gemm(InferContext& context) {
  if (!is_product_type(context.dtype(0)))
    return make_error(Code::kInvalidModel,
                      "A has element type {}, expected a float type, int32, int64, uint32 or uint64",
                      dtype_name(context.dtype(0)));
  TUTTI_TRY(require_same_types(context, {"A", "B", "C"}));
  TUTTI_TRY(require_rank(context, 0, 2, "A"));
  TUTTI_TRY(require_rank(context, 1, 2, "B"));
  const auto& attrs = context.attrs<GemmAttrs>();
  if (!context.shape(0) || !context.shape(1)) {
    const Dim m = context.shape(0) ? (*context.shape(0))[attrs.transA ? 1 : 0] : context.fresh_dim("gemm_m");
    const Dim n = context.shape(1) ? (*context.shape(1))[attrs.transB ? 0 : 1] : context.fresh_dim("gemm_n");
    context.set_output(0, context.dtype(0), {m, n});
    return ok_status();
  }
  const GemmShape size = TUTTI_TRY(gemm_shape(attrs, *context.shape(0), *context.shape(1)));
  if (context.has_input(2) && context.shape(2)) TUTTI_TRY(check_bias(*context.shape(2), size));
  context.set_output(0, context.dtype(0), {size.m, size.n});
  return ok_status();
}

struct GemmRun {
  GemmSize size;
  MatrixLayout a, b;
  int64_t c_row = 0, c_column = 0;  // strides of C as broadcast
  double alpha = 1, beta = 1;
};

template <class C>
void run_gemm(const GemmRun& run, EvalContext& context, Tensor* out) {
  const ComputeView<C> a(context.input(0)), b(context.input(1));
  const ComputeView<C> bias =
      context.has_input(2) && run.beta != 0 ? ComputeView<C>(context.input(2)) : ComputeView<C>();
  ComputeBuffer<C> buffer(out);
  C* y = buffer.data();
  multiply(run.size, a.data(), run.a, b.data(), run.b, y, run.size.n);
  for (int64_t i = 0; i < run.size.m; ++i)
    for (int64_t j = 0; j < run.size.n; ++j) {
      C& cell = y[i * run.size.n + j];
      cell = static_cast<C>(run.alpha) * cell;
      if (bias.present()) cell += static_cast<C>(run.beta) * bias[i * run.c_row + j * run.c_column];
    }
  buffer.store();
}

Status eval_gemm(EvalContext& context) {
  const auto& attrs = context.attrs<GemmAttrs>();
  const Tensor& a = context.input(0);
  const Tensor& b = context.input(1);
  const GemmShape shape = TUTTI_TRY(gemm_shape(attrs, to_shape(a.dims()), to_shape(b.dims())));
  GemmRun run{{*shape.m.constant(), *shape.n.constant(), *shape.k.constant()}, {a.dim(1), 1}, {b.dim(1), 1}};
  if (attrs.transA) run.a = {1, a.dim(1)};
  if (attrs.transB) run.b = {1, b.dim(1)};
  run.alpha = attrs.alpha;
  run.beta = attrs.beta;
  if (context.has_input(2)) {
    const Tensor& c = context.input(2);
    TUTTI_TRY(check_bias(to_shape(c.dims()), shape));
    if (c.rank() > 0 && c.dim(c.rank() - 1) != 1) run.c_column = 1;
    if (c.rank() == 2 && c.dim(0) != 1) run.c_row = c.dim(1);
  }
  Tensor* out = TUTTI_TRY(context.output(0, a.dtype(), {run.size.m, run.size.n}));
  with_compute_type(a.dtype(), [&]<class C>() { run_gemm<C>(run, context, out); });
  return ok_status();
}

}  // namespace

const OpDef kGemm{.name = "Gemm",
                  .min_inputs = 2,
                  .max_inputs = 3,
                  .make_attrs = make_attrs<GemmAttrs>,
                  .infer = infer_gemm,
                  .eval = eval_gemm};

}  // namespace tutti::ops
