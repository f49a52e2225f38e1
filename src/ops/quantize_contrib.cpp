// com.microsoft's QLinear operators: dequantise, compute in float, quantise.
#include <algorithm>
#include <cmath>

#include "ops/broadcast.h"
#include "ops/elements.h"
#include "ops/infer_common.h"
#include "ops/quantize.h"
#include "ops/quantize_util.h"

namespace tutti::ops {
namespace {

using ir::Dims;
using ir::DType;
using ir::EvalContext;
using ir::InferContext;
using ir::Shape;
using ir::Tensor;
using ir::ValueType;

bool is_byte(DType d) { return d == DType::kUInt8 || d == DType::kInt8; }

Status infer_unary(InferContext& context) {
  TUTTI_TRY(expect_kind(context, 0, is_byte, "int8 or uint8"));
  TUTTI_TRY(expect_present(context, 3));
  context.set_output(0, context.input(0));
  return ok_status();
}

// Inputs X, X_scale, X_zero_point, Y_scale, Y_zero_point.
template <class F>
Status eval_unary(EvalContext& context, F&& f) {
  const Tensor& x = context.input(0);
  std::vector<float> values = dequantize_all(x, TUTTI_TRY(read_quant_params(context, 1, 2)));
  for (float& value : values) value = f(value);
  const QuantParams y = TUTTI_TRY(read_quant_params(context, 3, 4));
  quantize_all(values, y, *TUTTI_TRY(context.output(0, x.dtype(), x.dims())));
  return ok_status();
}

Status eval_sigmoid(EvalContext& context) {
  return eval_unary(context, [](float x) { return 1.0f / (1.0f + std::exp(-x)); });
}

Status eval_leaky_relu(EvalContext& context) {
  const float alpha = context.attrs<QLinearLeakyReluAttrs>().alpha;
  return eval_unary(context, [alpha](float x) { return x >= 0 ? x : alpha * x; });
}

// --- QLinearAdd, QLinearMul: A, A_scale, A_zero_point, B, B_scale, B_zero_point, C_scale, C_zero_point

Status infer_binary(InferContext& context) {
  TUTTI_TRY(expect_kind(context, 0, is_byte, "int8 or uint8"));
  for (const int required : {3, 4, 6}) TUTTI_TRY(expect_present(context, required));
  TUTTI_TRY(expect_same_dtype(context, 0, 3));
  std::optional<Shape> shape;
  if (context.shape(0) && context.shape(3)) shape = TUTTI_TRY(ir::broadcast(*context.shape(0), *context.shape(3)));
  context.set_output(0, ValueType::tensor(context.dtype(0), std::move(shape)));
  return ok_status();
}

template <class F>
Status eval_binary(EvalContext& context, F&& f) {
  const Tensor &a = context.input(0), &b = context.input(3);
  const auto x = dequantize_all(a, TUTTI_TRY(read_quant_params(context, 1, 2)));
  const auto y = dequantize_all(b, TUTTI_TRY(read_quant_params(context, 4, 5)));
  const Dims dims = TUTTI_TRY(ir::broadcast(a.dims(), b.dims()));
  Tensor& out = *TUTTI_TRY(context.output(0, a.dtype(), dims));
  std::vector<float> values(static_cast<size_t>(out.size()));
  StridedWalk::broadcast(dims, {&a.dims(), &b.dims()})
      .for_each_run([&](int64_t at, int64_t count, const int64_t* offset, const int64_t* stride) {
        for (int64_t k = 0; k < count; ++k)
          values[static_cast<size_t>(at + k)] =
              f(x[static_cast<size_t>(offset[0] + k * stride[0])], y[static_cast<size_t>(offset[1] + k * stride[1])]);
      });
  quantize_all(values, TUTTI_TRY(read_quant_params(context, 6, 7)), out);
  return ok_status();
}

Status eval_add(EvalContext& context) {
  return eval_binary(context, [](float a, float b) { return a + b; });
}
Status eval_mul(EvalContext& context) {
  return eval_binary(context, [](float a, float b) { return a * b; });
}

// --- QLinearSoftmax

void softmax_line(float* line, int64_t count, int64_t step) {
  float top = -HUGE_VALF, sum = 0;
  for (int64_t i = 0; i < count; ++i) top = std::max(top, line[i * step]);
  for (int64_t i = 0; i < count; ++i) sum += line[i * step] = std::exp(line[i * step] - top);
  for (int64_t i = 0; i < count; ++i) line[i * step] /= sum;
}

Status eval_softmax(EvalContext& context) {
  const auto& attrs = context.attrs<QLinearSoftmaxAttrs>();
  const Tensor& x = context.input(0);
  const int64_t axis = TUTTI_TRY(ir::normalize_axis(attrs.axis, x.rank()));
  std::vector<float> values = dequantize_all(x, TUTTI_TRY(read_quant_params(context, 1, 2)));
  int64_t inner = 1, count = x.dim(axis);
  for (int64_t i = axis + 1; i < x.rank(); ++i) (attrs.opset < 13 ? count : inner) *= x.dim(i);
  const int64_t outer = count * inner == 0 ? 0 : x.size() / (count * inner);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) softmax_line(values.data() + o * count * inner + i, count, inner);
  quantize_all(values, TUTTI_TRY(read_quant_params(context, 3, 4)), *TUTTI_TRY(context.output(0, x.dtype(), x.dims())));
  return ok_status();
}

// --- QLinearGlobalAveragePool

Status infer_global_pool(InferContext& context) {
  TUTTI_TRY(expect_kind(context, 0, is_byte, "int8 or uint8"));
  TUTTI_TRY(expect_rank_at_least(context, 0, 3));
  TUTTI_TRY(expect_present(context, 3));
  std::optional<Shape> shape = context.shape(0);
  const bool last = context.attrs<QLinearGlobalPoolAttrs>().channels_last;
  for (size_t i = last ? 1 : 2; shape && i < shape->size() - (last ? 1 : 0); ++i) (*shape)[i] = ir::Dim(1);
  context.set_output(0, ValueType::tensor(context.dtype(0), std::move(shape)));
  return ok_status();
}

Status eval_global_pool(EvalContext& context) {
  const bool last = context.attrs<QLinearGlobalPoolAttrs>().channels_last;
  const Tensor& x = context.input(0);
  if (x.rank() < 3) return make_error(Code::kInvalidInput, "the input is {}, expected rank 3 or more", x.type_text());
  Dims dims = x.dims();
  int64_t plane = 1;
  for (size_t i = last ? 1 : 2; i < dims.size() - (last ? 1 : 0); ++i) {
    plane *= dims[i];
    dims[i] = 1;
  }
  const int64_t channels = last ? dims.back() : dims[1];
  const auto in = dequantize_all(x, TUTTI_TRY(read_quant_params(context, 1, 2)));
  Tensor& out = *TUTTI_TRY(context.output(0, x.dtype(), dims));
  std::vector<float> values(static_cast<size_t>(out.size()), 0.0f);
  for (int64_t i = 0; i < out.size() && plane > 0; ++i) {
    const int64_t n = i / channels, c = i % channels;
    double sum = 0;
    for (int64_t p = 0; p < plane; ++p)
      sum += static_cast<double>(in[static_cast<size_t>(last ? (n * plane + p) * channels + c : i * plane + p)]);
    values[static_cast<size_t>(i)] = static_cast<float>(sum / static_cast<double>(plane));
  }
  quantize_all(values, TUTTI_TRY(read_quant_params(context, 3, 4)), out);
  return ok_status();
}

// --- QLinearConcat: Y_scale, Y_zero_point, then (tensor, scale, zero point) for each part

Status infer_concat(InferContext& context) {
  if (context.input_count() < 5 || (context.input_count() - 2) % 3 != 0)
    return make_error(Code::kInvalidModel, "QLinearConcat has {} inputs, expected 2 and 3 for each part",
                      context.input_count());
  std::optional<Shape> shape = context.shape(2);
  for (int i = 5; i < context.input_count() && shape; i += 3) {
    const auto& other = context.shape(i);
    if (!other || other->size() != shape->size()) {
      shape.reset();
      break;
    }
    const auto axis = static_cast<size_t>(TUTTI_TRY(axis_of(context, i, context.attrs<QLinearConcatAttrs>().axis)));
    (*shape)[axis] = (*shape)[axis] + (*other)[axis];
  }
  context.set_output(0, ValueType::tensor(context.dtype(1), std::move(shape)));
  return ok_status();
}

Status eval_concat(EvalContext& context) {
  const QuantParams y = TUTTI_TRY(read_quant_params(context, 0, 1));
  std::vector<Tensor> parts;
  for (int i = 2; i + 2 < context.input_count(); i += 3) {
    const Tensor& part = context.input(i);
    Tensor out = Tensor::allocate(context.input(1).dtype(), part.dims());
    quantize_all(dequantize_all(part, TUTTI_TRY(read_quant_params(context, i + 1, i + 2))), y, out);
    parts.push_back(std::move(out));
  }
  if (parts.empty()) return Error(Code::kInvalidInput, "QLinearConcat was given no parts");
  context.set_output(0, TUTTI_TRY(concat_tensors(parts, context.attrs<QLinearConcatAttrs>().axis)));
  return ok_status();
}

constexpr ir::Tolerance kTolerance = ir::Tolerance::kApproximate;

}  // namespace

const ir::OpDef kQLinearAdd{.name = "QLinearAdd",
                            .min_inputs = 2,
                            .max_inputs = 8,
                            .infer = infer_binary,
                            .eval = eval_add,
                            .tolerance = kTolerance};
const ir::OpDef kQLinearMul{.name = "QLinearMul",
                            .min_inputs = 2,
                            .max_inputs = 8,
                            .infer = infer_binary,
                            .eval = eval_mul,
                            .tolerance = kTolerance};
const ir::OpDef kQLinearSigmoid{.name = "QLinearSigmoid",
                                .min_inputs = 2,
                                .max_inputs = 5,
                                .infer = infer_unary,
                                .eval = eval_sigmoid,
                                .tolerance = kTolerance};
const ir::OpDef kQLinearLeakyRelu{.name = "QLinearLeakyRelu",
                                  .min_inputs = 2,
                                  .max_inputs = 5,
                                  .make_attrs = ir::make_attrs<QLinearLeakyReluAttrs>,
                                  .infer = infer_unary,
                                  .eval = eval_leaky_relu,
                                  .tolerance = kTolerance};
const ir::OpDef kQLinearSoftmax{.name = "QLinearSoftmax",
                                .min_inputs = 2,
                                .max_inputs = 5,
                                .make_attrs = ir::make_attrs<QLinearSoftmaxAttrs>,
                                .infer = infer_unary,
                                .eval = eval_softmax,
                                .tolerance = kTolerance};
const ir::OpDef kQLinearGlobalAveragePool{.name = "QLinearGlobalAveragePool",
                                          .min_inputs = 2,
                                          .max_inputs = 5,
                                          .make_attrs = ir::make_attrs<QLinearGlobalPoolAttrs>,
                                          .infer = infer_global_pool,
                                          .eval = eval_global_pool,
                                          .tolerance = kTolerance};
const ir::OpDef kQLinearConcat{.name = "QLinearConcat",
                               .min_inputs = 3,
                               .max_inputs = ir::kAnyCount,
                               .make_attrs = ir::make_attrs<QLinearConcatAttrs>,
                               .infer = infer_concat,
                               .eval = eval_concat,
                               .tolerance = kTolerance};

}  // namespace tutti::ops
