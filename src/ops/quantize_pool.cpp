// com.microsoft's QLinearAveragePool: dequantise, AveragePool in float, quantise.
#include <algorithm>

#include "ops/fused.h"
#include "ops/infer_common.h"
#include "ops/interpreter.h"
#include "ops/pool.h"
#include "ops/quantize.h"
#include "ops/quantize_util.h"
#include "ops/view.h"

namespace tutti::ops {
namespace {

using ir::DType;
using ir::EvalContext;
using ir::InferContext;
using ir::Shape;
using ir::Tensor;
using ir::ValueType;

bool is_byte(DType d) { return d == DType::kUInt8 || d == DType::kInt8; }

Status infer_average_pool(InferContext& context) {
  const auto& attrs = context.attrs<QLinearAveragePoolAttrs>();
  TUTTI_TRY(expect_kind(context, 0, is_byte, "int8 or uint8"));
  TUTTI_TRY(expect_present(context, 3));
  TUTTI_TRY(expect_dtype(context, 1, {DType::kFloat32}));
  TUTTI_TRY(expect_dtype(context, 3, {DType::kFloat32}));
  for (const int zero_point : {2, 4})
    if (context.has_input(zero_point)) TUTTI_TRY(expect_same_dtype(context, 0, zero_point));
  TUTTI_TRY(expect_rank_at_least(context, 0, 3));
  std::optional<Shape> x = context.shape(0);
  if (x && attrs.channels_last) std::rotate(x->begin() + 1, x->end() - 1, x->end());
  std::optional<Shape> y = TUTTI_TRY(pooled_shape(x, attrs, attrs.ceil_mode));
  if (y && attrs.channels_last) std::rotate(y->begin() + 1, y->begin() + 2, y->end());
  context.set_output(0, ValueType::tensor(context.dtype(0), std::move(y)));
  return ok_status();
}

Result<Tensor> apply(const ir::OpDef& op, ir::Attrs attrs, Tensor x) {
  const ir::Datum inputs[] = {std::move(x)};
  auto outputs = TUTTI_TRY(evaluate({.op = op, .attrs = attrs, .inputs = inputs}));
  return std::move(outputs[0].tensor());
}

Result<Tensor> transpose(const Tensor& x, std::vector<int64_t> perm) {
  TransposeAttrs attrs;
  attrs.perm = std::move(perm);
  return apply(kTranspose, attrs, x);
}

Status eval_average_pool(EvalContext& context) {
  const auto& attrs = context.attrs<QLinearAveragePoolAttrs>();
  const Tensor& x = context.input(0);
  if (x.rank() < 3) return make_error(Code::kInvalidInput, "the input is {}, expected rank 3 or more", x.type_text());
  const std::vector<float> values = dequantize_all(x, TUTTI_TRY(read_quant_params(context, 1, 2)));
  Tensor real = Tensor::from<float>(x.dims(), std::span<const float>(values));
  AveragePoolAttrs pool;
  static_cast<WindowAttrs&>(pool) = attrs;
  pool.ceil_mode = attrs.ceil_mode;
  pool.count_include_pad = attrs.count_include_pad;
  if (attrs.channels_last) real = TUTTI_TRY(transpose(real, channels_first_permutation(x.rank())));
  real = TUTTI_TRY(apply(kAveragePool, pool, std::move(real)));
  if (attrs.channels_last) real = TUTTI_TRY(transpose(real, channels_last_permutation(x.rank())));
  quantize_all(real.data<float>(), TUTTI_TRY(read_quant_params(context, 3, 4)),
               *TUTTI_TRY(context.output(0, x.dtype(), real.dims())));
  return ok_status();
}

}  // namespace

const ir::OpDef kQLinearAveragePool{.name = "QLinearAveragePool",
                                    .min_inputs = 2,
                                    .max_inputs = 5,
                                    .make_attrs = ir::make_attrs<QLinearAveragePoolAttrs>,
                                    .infer = infer_average_pool,
                                    .eval = eval_average_pool,
                                    .tolerance = ir::Tolerance::kApproximate};

}  // namespace tutti::ops
