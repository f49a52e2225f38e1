#include "ops/quantize.h"

#include <algorithm>
#include <cmath>

#include "ops/dispatch.h"
#include "ops/infer_common.h"
#include "ops/quantize_util.h"

namespace tutti::ops {
namespace {

using ir::DType;
using ir::EvalContext;
using ir::InferContext;
using ir::Shape;
using ir::Tensor;

bool is_float8(DType d) { return d >= DType::kFloat8E4M3FN && d <= DType::kFloat8E5M2FNUZ; }
bool is_quantized(DType d) {
  return is_float8(d) || d == DType::kFloat4E2M1 || (ir::is_integer(d) && ir::dtype_bits(d) <= 16);
}

Status check_scale_shape(const InferContext& context) {
  if (!context.has_input(2) || !context.shape(1) || !context.shape(2)) return ok_status();
  if (context.shape(1)->size() != context.shape(2)->size() && !context.shape(2)->empty() && !context.shape(1)->empty())
    return make_error(Code::kInvalidModel, "scale {} and zero point {} must have the same dims",
                      context.input(1).text(), context.input(2).text());
  return ok_status();
}

// --- QuantizeLinear

Result<DType> quantized_type(const QuantizeLinearAttrs& attrs, DType zero_point) {
  if (zero_point != DType::kUndefined && attrs.output_dtype != DType::kUndefined && zero_point != attrs.output_dtype)
    return make_error(Code::kInvalidModel, "the zero point is {}, but output_dtype is {}", ir::dtype_name(zero_point),
                      ir::dtype_name(attrs.output_dtype));
  DType dtype = zero_point != DType::kUndefined ? zero_point : attrs.output_dtype;
  if (dtype == DType::kUndefined) dtype = DType::kUInt8;
  if (!is_quantized(dtype)) return make_error(Code::kUnsupported, "cannot quantise to {}", ir::dtype_name(dtype));
  return dtype;
}

Status infer_quantize(InferContext& context) {
  TUTTI_TRY(expect_kind(context, 0, is_number, "a number"));
  TUTTI_TRY(expect_kind(context, 1, is_number, "a number"));
  TUTTI_TRY(check_scale_shape(context));
  const DType zero_point = context.has_input(2) ? context.dtype(2) : DType::kUndefined;
  const DType dtype = TUTTI_TRY(quantized_type(context.attrs<QuantizeLinearAttrs>(), zero_point));
  context.set_output(0, ir::ValueType::tensor(dtype, context.shape(0)));
  return ok_status();
}

double rounded_to(double value, DType precision) {
  if (precision == DType::kFloat16) return half_to_float(float_to_half(static_cast<float>(value)));
  if (precision == DType::kBFloat16) return bfloat16_to_float(float_to_bfloat16(static_cast<float>(value)));
  return precision == DType::kFloat64 ? value : static_cast<double>(static_cast<float>(value));
}

double divide(double x, double scale, DType precision) {
  x = rounded_to(x, precision);
  scale = rounded_to(scale, precision);
  if (precision == DType::kFloat64) return x / scale;
  return rounded_to(static_cast<float>(x) / static_cast<float>(scale), precision);
}

const MiniFloatFormat& float8_format(DType dtype) {
  switch (dtype) {
    case DType::kFloat8E4M3FN: return tutti::kFloat8E4M3FN;
    case DType::kFloat8E4M3FNUZ: return tutti::kFloat8E4M3FNUZ;
    case DType::kFloat8E5M2: return tutti::kFloat8E5M2;
    default: return tutti::kFloat8E5M2FNUZ;
  }
}

Status eval_quantize(EvalContext& context) {
  const auto& attrs = context.attrs<QuantizeLinearAttrs>();
  const Tensor &x = context.input(0), &scale = context.input(1);
  const Tensor* zero = context.has_input(2) ? &context.input(2) : nullptr;
  const DType dtype = TUTTI_TRY(quantized_type(attrs, zero ? zero->dtype() : DType::kUndefined));
  const DType precision = attrs.precision != DType::kUndefined ? attrs.precision : scale.dtype();
  const QuantIndex index = TUTTI_TRY(QuantIndex::make(x.dims(), scale.dims(), attrs.axis, attrs.block_size));
  if (scale.size() < 1 || (zero && zero->size() != scale.size() && zero->size() != 1)) {
    if (x.size() > 0)
      return make_error(Code::kInvalidInput, "scale {} and zero point must have equal dims", scale.type_text());
  }
  const bool one_zero = zero && zero->size() == 1;
  Tensor& out = *TUTTI_TRY(context.output(0, dtype, x.dims()));
  const bool integer = ir::is_integer(dtype);
  const IntRange range = integer ? integer_range(dtype) : IntRange{0, 0};
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t at = index(i);
    const double value = divide(x.get_double(i), scale.get_double(at), precision);
    const int64_t zero_at = one_zero ? 0 : at;
    if (integer)
      out.set_int(i, quantize_value(value, zero ? zero->get_int(zero_at) : 0, range));
    else if (is_float8(dtype))
      out.mutable_data<uint8_t>()[static_cast<size_t>(i)] =
          float_to_mini(float8_format(dtype), static_cast<float>(value), attrs.saturate);
    else
      out.set_double(i, value + (zero ? zero->get_double(zero_at) : 0.0));
  }
  return ok_status();
}

// --- DequantizeLinear

Status infer_dequantize(InferContext& context) {
  const auto& attrs = context.attrs<DequantizeLinearAttrs>();
  TUTTI_TRY(expect_kind(context, 0, is_number, "a number"));
  TUTTI_TRY(expect_kind(context, 1, ir::is_floating, "a float"));
  if (context.has_input(2)) TUTTI_TRY(expect_same_dtype(context, 0, 2));
  TUTTI_TRY(check_scale_shape(context));
  const DType dtype = attrs.output_dtype != DType::kUndefined ? attrs.output_dtype : context.dtype(1);
  if (!ir::is_compute_float(dtype))
    return make_error(Code::kUnsupported, "cannot dequantise to {}", ir::dtype_name(dtype));
  context.set_output(0, ir::ValueType::tensor(dtype, context.shape(0)));
  return ok_status();
}

Status eval_dequantize(EvalContext& context) {
  const auto& attrs = context.attrs<DequantizeLinearAttrs>();
  const Tensor &x = context.input(0), &scale = context.input(1);
  const Tensor* zero = context.has_input(2) ? &context.input(2) : nullptr;
  const QuantIndex index = TUTTI_TRY(QuantIndex::make(x.dims(), scale.dims(), attrs.axis, attrs.block_size));
  if ((scale.size() < 1 || (zero && zero->size() != scale.size() && zero->size() != 1)) && x.size() > 0)
    return make_error(Code::kInvalidInput, "scale {} and zero point must have equal dims", scale.type_text());
  const bool one_zero = zero && zero->size() == 1;
  Tensor& out = *TUTTI_TRY(
      context.output(0, attrs.output_dtype != DType::kUndefined ? attrs.output_dtype : scale.dtype(), x.dims()));
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t at = index(i);
    const double shifted = x.get_double(i) - (zero ? zero->get_double(one_zero ? 0 : at) : 0.0);
    out.set_double(i, static_cast<float>(shifted) * static_cast<float>(scale.get_double(at)));
  }
  return ok_status();
}

// --- DynamicQuantizeLinear

Status infer_dynamic(InferContext& context) {
  TUTTI_TRY(expect_dtype(context, 0, {DType::kFloat32}));
  context.set_output(0, ir::ValueType::tensor(DType::kUInt8, context.shape(0)));
  context.set_output(1, DType::kFloat32, Shape{});
  context.set_output(2, DType::kUInt8, Shape{});
  return ok_status();
}

Status eval_dynamic(EvalContext& context) {
  const Tensor& x = context.input(0);
  float low = 0, high = 0;
  for (float value : x.data<float>()) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  const float scale = (high == low ? 1.0f : high - low) / 255.0f;
  const auto zero = static_cast<int64_t>(std::nearbyint(std::clamp(-low / scale, 0.0f, 255.0f)));
  Tensor& out = *TUTTI_TRY(context.output(0, DType::kUInt8, x.dims()));
  quantize_all(x.data<float>(), {scale, zero}, out);
  context.set_output(1, Tensor::scalar<float>(scale));
  context.set_output(2, Tensor::scalar<uint8_t>(static_cast<uint8_t>(zero)));
  return ok_status();
}

}  // namespace

const ir::OpDef kQuantizeLinear{.name = "QuantizeLinear",
                                .min_inputs = 2,
                                .max_inputs = 3,
                                .make_attrs = ir::make_attrs<QuantizeLinearAttrs>,
                                .infer = infer_quantize,
                                .eval = eval_quantize,
                                .tolerance = ir::Tolerance::kExact};
const ir::OpDef kDequantizeLinear{.name = "DequantizeLinear",
                                  .min_inputs = 2,
                                  .max_inputs = 3,
                                  .make_attrs = ir::make_attrs<DequantizeLinearAttrs>,
                                  .infer = infer_dequantize,
                                  .eval = eval_dequantize,
                                  .tolerance = ir::Tolerance::kRounding};
const ir::OpDef kDynamicQuantizeLinear{.name = "DynamicQuantizeLinear",
                                       .min_inputs = 1,
                                       .max_inputs = 1,
                                       .max_outputs = 3,
                                       .infer = infer_dynamic,
                                       .eval = eval_dynamic,
                                       .tolerance = ir::Tolerance::kApproximate};

}  // namespace tutti::ops
