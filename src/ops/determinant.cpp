#include "ops/determinant.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tutti::ops {
namespace {

using ir::EvalContext;
using ir::InferContext;
using ir::Tensor;

Status infer_det(InferContext& context) {
  if (!ir::is_compute_float(context.dtype(0)))
    return make_error(Code::kInvalidModel, "input 0: found {}, expected a float type", dtype_name(context.dtype(0)));
  const auto& shape = context.shape(0);
  if (!shape) {
    context.set_output_unranked(0, context.dtype(0));
    return {};
  }
  if (shape->size() < 2 || ir::Dim::never_equal((*shape)[shape->size() - 1], (*shape)[shape->size() - 2]))
    return make_error(Code::kInvalidModel, "input 0: found {}, expected square matrices", shape_text(*shape));
  context.set_output(0, context.dtype(0), ir::Shape(shape->begin(), shape->end() - 2));
  return {};
}

// Gaussian elimination with partial pivoting; `a` is row-major and destroyed.
double determinant(std::vector<double>& a, size_t n) {
  double product = 1;
  for (size_t k = 0; k < n; ++k) {
    size_t pivot = k;
    for (size_t r = k + 1; r < n; ++r)
      if (std::fabs(a[r * n + k]) > std::fabs(a[pivot * n + k])) pivot = r;
    if (a[pivot * n + k] == 0) return 0;
    if (pivot != k) {
      std::swap_ranges(a.begin() + static_cast<int64_t>(k * n), a.begin() + static_cast<int64_t>((k + 1) * n),
                       a.begin() + static_cast<int64_t>(pivot * n));
      product = -product;
    }
    product *= a[k * n + k];
    for (size_t r = k + 1; r < n; ++r) {
      const double factor = a[r * n + k] / a[k * n + k];
      for (size_t c = k; c < n; ++c) a[r * n + c] -= factor * a[k * n + c];
    }
  }
  return product;
}

Status eval_det(EvalContext& context) {
  const Tensor& x = context.input(0);
  if (x.rank() < 2 || x.dim(x.rank() - 1) != x.dim(x.rank() - 2))
    return make_error(Code::kInvalidInput, "input 0: found {}, expected square matrices", x.type_text());
  const int64_t n = x.dim(x.rank() - 1);
  Tensor& y = *TUTTI_TRY(context.output(0, x.dtype(), ir::Dims(x.dims().begin(), x.dims().end() - 2)));
  std::vector<double> matrix(static_cast<size_t>(n * n));
  for (int64_t i = 0; i < y.size(); ++i) {
    for (int64_t k = 0; k < n * n; ++k) matrix[static_cast<size_t>(k)] = x.get_double(i * n * n + k);
    y.set_double(i, determinant(matrix, static_cast<size_t>(n)));
  }
  return {};
}

}  // namespace

const ir::OpDef kDet{.name = "Det", .min_inputs = 1, .max_inputs = 1, .infer = infer_det, .eval = eval_det};

}  // namespace tutti::ops
