#include <cmath>

#include "ops/infer_common.h"
#include "ops/quantize.h"
#include "ops/quantize_util.h"

namespace tutti::ops {
namespace {

using ir::DType;
using ir::EvalContext;
using ir::InferContext;
using ir::Tensor;
using ir::ValueType;

bool is_byte(DType d) { return d == DType::kUInt8 || d == DType::kInt8; }
bool is_quantized(DType d) { return is_byte(d) || (d >= DType::kFloat8E4M3FN && d <= DType::kFloat8E5M2FNUZ); }

// A parameter of one element, one per row (or column) of each matrix, or one per row (or column) of all matrices.
class VectorParam {
 public:
  static Result<VectorParam> make(const Tensor* tensor, int64_t lines, int64_t matrices) {
    VectorParam param;
    param.tensor_ = tensor;
    if (tensor == nullptr || tensor->size() == 1 || lines == 0) return param;
    param.line_step_ = 1;
    param.matrix_step_ = tensor->size() == lines ? 0 : lines;
    if (tensor->size() != lines && (matrices == 0 || tensor->size() % lines != 0 || tensor->size() / lines != matrices))
      return make_error(Code::kInvalidInput, "a scale or zero point is {}, expected 1 or {} elements",
                        tensor->type_text(), lines);
    return param;
  }
  int64_t get_int(int64_t matrix, int64_t line) const { return tensor_ ? tensor_->get_int(at(matrix, line)) : 0; }
  double get_double(int64_t matrix, int64_t line) const { return tensor_ ? tensor_->get_double(at(matrix, line)) : 1; }

 private:
  int64_t at(int64_t matrix, int64_t line) const { return matrix * matrix_step_ + line * line_step_; }
  const Tensor* tensor_ = nullptr;
  int64_t line_step_ = 0, matrix_step_ = 0;
};

struct Operands {
  const Tensor *a, *b;
  const Tensor *a_zero = nullptr, *b_zero = nullptr;
};

int64_t matrices(const Tensor& tensor, int64_t rows, int64_t columns) {
  return rows * columns == 0 ? 0 : tensor.size() / (rows * columns);
}

// Sums wrap to 32 bits, as the operators specify.
Result<std::vector<int32_t>> multiply(const MatMulShape& shape, const Operands& in) {
  const auto a_zero = TUTTI_TRY(VectorParam::make(in.a_zero, shape.m, matrices(*in.a, shape.m, shape.k)));
  const auto b_zero = TUTTI_TRY(VectorParam::make(in.b_zero, shape.n, matrices(*in.b, shape.k, shape.n)));
  std::vector<int32_t> a(static_cast<size_t>(in.a->size())), b(static_cast<size_t>(in.b->size()));
  for (int64_t i = 0; i < in.a->size(); ++i)
    a[static_cast<size_t>(i)] =
        static_cast<int32_t>(in.a->get_int(i) - a_zero.get_int(i / (shape.m * shape.k), i / shape.k % shape.m));
  for (int64_t i = 0; i < in.b->size(); ++i)
    b[static_cast<size_t>(i)] =
        static_cast<int32_t>(in.b->get_int(i) - b_zero.get_int(i / (shape.k * shape.n), i % shape.n));
  std::vector<int32_t> out(static_cast<size_t>(TUTTI_TRY(ir::checked_element_count(shape.out_dims))));
  std::vector<int64_t> row(static_cast<size_t>(shape.n));
  size_t at = 0;
  for (int64_t batch = 0; batch < shape.batch; ++batch) {
    const int32_t* left = a.data() + shape.a_batch[static_cast<size_t>(batch)] * shape.m * shape.k;
    const int32_t* right = b.data() + shape.b_batch[static_cast<size_t>(batch)] * shape.k * shape.n;
    for (int64_t m = 0; m < shape.m; ++m) {
      std::fill(row.begin(), row.end(), 0);
      for (int64_t k = 0; k < shape.k; ++k)
        for (int64_t n = 0; n < shape.n; ++n)
          row[static_cast<size_t>(n)] += int64_t{left[m * shape.k + k]} * right[k * shape.n + n];
      for (int64_t sum : row) out[at++] = static_cast<int32_t>(sum);
    }
  }
  return out;
}

const Tensor* optional_input(const EvalContext& context, int i) {
  return context.has_input(i) ? &context.input(i) : nullptr;
}

// --- MatMulInteger

Status infer_matmul_integer(InferContext& context) {
  TUTTI_TRY(expect_kind(context, 0, is_byte, "int8 or uint8"));
  TUTTI_TRY(expect_kind(context, 1, is_byte, "int8 or uint8"));
  context.set_output(
      0, ValueType::tensor(DType::kInt32, TUTTI_TRY(infer_matmul_shape(context.shape(0), context.shape(1)))));
  return ok_status();
}

Status eval_matmul_integer(EvalContext& context) {
  const Operands in{&context.input(0), &context.input(1), optional_input(context, 2), optional_input(context, 3)};
  const MatMulShape shape = TUTTI_TRY(matmul_shape(in.a->dims(), in.b->dims()));
  const auto sums = TUTTI_TRY(multiply(shape, in));
  context.set_output(0, Tensor::from<int32_t>(shape.out_dims, std::span(sums)));
  return ok_status();
}

// --- QLinearMatMul

Status infer_qlinear(InferContext& context) {
  TUTTI_TRY(expect_kind(context, 0, is_quantized, "a quantised type"));
  TUTTI_TRY(expect_kind(context, 3, is_quantized, "a quantised type"));
  context.set_output(
      0, ValueType::tensor(context.dtype(7), TUTTI_TRY(infer_matmul_shape(context.shape(0), context.shape(3)))));
  return ok_status();
}

struct Scales {
  const Tensor *a, *b;
};

// sums * a_scale[row] * b_scale[column], one after the other.
template <class F>
Status for_each_scaled(const MatMulShape& shape, const std::vector<int32_t>& sums, const Scales& scales, F&& f) {
  const auto a_scale = TUTTI_TRY(VectorParam::make(scales.a, shape.m, shape.batch));
  const auto b_scale = TUTTI_TRY(VectorParam::make(scales.b, shape.n, shape.batch));
  int64_t at = 0;
  for (int64_t batch = 0; batch < shape.batch; ++batch)
    for (int64_t m = 0; m < shape.m; ++m)
      for (int64_t n = 0; n < shape.n; ++n, ++at)
        f(at, n, static_cast<double>(sums[static_cast<size_t>(at)]),
          a_scale.get_double(batch, m) * b_scale.get_double(batch, n));
  return ok_status();
}

Status eval_qlinear(EvalContext& context) {
  const Operands in{&context.input(0), &context.input(3), optional_input(context, 2), optional_input(context, 5)};
  if (!is_byte(in.a->dtype()) || !is_byte(in.b->dtype()) || !is_byte(context.input(7).dtype()))
    return make_error(Code::kUnsupported, "QLinearMatMul of {} and {} is not supported, only int8 and uint8",
                      in.a->type_text(), in.b->type_text());
  const MatMulShape shape = TUTTI_TRY(matmul_shape(in.a->dims(), in.b->dims()));
  const auto sums = TUTTI_TRY(multiply(shape, in));
  const QuantParams y = TUTTI_TRY(read_quant_params(context, 6, 7));
  Tensor& out = *TUTTI_TRY(context.output(0, context.input(7).dtype(), shape.out_dims));
  const IntRange range = integer_range(out.dtype());
  return for_each_scaled(
      shape, sums, {&context.input(1), &context.input(4)}, [&](int64_t at, int64_t, double sum, double scale) {
        out.set_int(at, quantize_value(sum * (scale / static_cast<double>(y.scale)), y.zero_point, range));
      });
}

// --- com.microsoft

Status infer_to_float(InferContext& context) {
  TUTTI_TRY(expect_kind(context, 0, is_byte, "int8 or uint8"));
  TUTTI_TRY(expect_kind(context, 1, is_byte, "int8 or uint8"));
  context.set_output(
      0, ValueType::tensor(context.dtype(2), TUTTI_TRY(infer_matmul_shape(context.shape(0), context.shape(1)))));
  return ok_status();
}

Status write_scaled(EvalContext& context, const MatMulShape& shape, const Operands& in, const Scales& scales,
                    const Tensor* bias) {
  const auto sums = TUTTI_TRY(multiply(shape, in));
  if (bias && bias->size() != shape.n)
    return make_error(Code::kInvalidInput, "the bias is {}, expected {} elements", bias->type_text(), shape.n);
  Tensor& out = *TUTTI_TRY(context.output(0, scales.b->dtype(), shape.out_dims));
  return for_each_scaled(shape, sums, scales, [&](int64_t at, int64_t column, double sum, double scale) {
    out.set_double(at, sum * scale + (bias ? bias->get_double(column) : 0.0));
  });
}

Status eval_to_float(EvalContext& context) {
  const Operands in{&context.input(0), &context.input(1), optional_input(context, 4), optional_input(context, 5)};
  const MatMulShape shape = TUTTI_TRY(matmul_shape(in.a->dims(), in.b->dims()));
  return write_scaled(context, shape, in, {&context.input(2), &context.input(3)}, optional_input(context, 6));
}

Status infer_dynamic_matmul(InferContext& context) {
  TUTTI_TRY(expect_dtype(context, 0, {DType::kFloat32}));
  TUTTI_TRY(expect_kind(context, 1, is_byte, "int8 or uint8"));
  context.set_output(
      0, ValueType::tensor(DType::kFloat32, TUTTI_TRY(infer_matmul_shape(context.shape(0), context.shape(1)))));
  return ok_status();
}

Status eval_dynamic_matmul(EvalContext& context) {
  const Tensor& a = context.input(0);
  ir::EvalContext quantize({.attrs = nullptr, .inputs = std::span(&context.datum(0), 1), .output_count = 3});
  TUTTI_TRY(kDynamicQuantizeLinear.eval(quantize));
  const auto& parts = quantize.outputs();
  const Operands in{&parts[0].tensor(), &context.input(1), &parts[2].tensor(), optional_input(context, 3)};
  const MatMulShape shape = TUTTI_TRY(matmul_shape(a.dims(), in.b->dims()));
  return write_scaled(context, shape, in, {&parts[1].tensor(), &context.input(2)}, optional_input(context, 4));
}

}  // namespace

const ir::OpDef kMatMulInteger{.name = "MatMulInteger",
                               .min_inputs = 2,
                               .max_inputs = 4,
                               .infer = infer_matmul_integer,
                               .eval = eval_matmul_integer,
                               .tolerance = ir::Tolerance::kExact};
const ir::OpDef kQLinearMatMul{.name = "QLinearMatMul",
                               .min_inputs = 8,
                               .max_inputs = 8,
                               .infer = infer_qlinear,
                               .eval = eval_qlinear,
                               .tolerance = ir::Tolerance::kApproximate};
const ir::OpDef kMatMulIntegerToFloat{.name = "MatMulIntegerToFloat",
                                      .min_inputs = 4,
                                      .max_inputs = 7,
                                      .infer = infer_to_float,
                                      .eval = eval_to_float,
                                      .tolerance = ir::Tolerance::kRounding};
const ir::OpDef kDynamicQuantizeMatMul{.name = "DynamicQuantizeMatMul",
                                       .min_inputs = 3,
                                       .max_inputs = 5,
                                       .infer = infer_dynamic_matmul,
                                       .eval = eval_dynamic_matmul,
                                       .tolerance = ir::Tolerance::kApproximate};

}  // namespace tutti::ops
