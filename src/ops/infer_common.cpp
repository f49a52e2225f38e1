#include "ops/infer_common.h"

#include <algorithm>

namespace tutti::ops {

using ir::DType;
using ir::InferContext;
using ir::Shape;

namespace {

Error wrong_type(const InferContext& ctx, int input, std::string_view expected) {
  return make_error(Code::kInvalidModel, "input {} has element type {}; expected {}", input,
                    ir::dtype_name(ctx.dtype(input)), expected);
}

}  // namespace

Status expect_tensor(const InferContext& ctx, int input) {
  if (ctx.has_input(input) && !ctx.input(input).is_tensor())
    return make_error(Code::kInvalidModel, "input {} is {}; expected a tensor", input, ctx.input(input).text());
  return ok_status();
}

Status expect_present(const InferContext& ctx, int input) {
  if (ctx.has_input(input)) return ok_status();
  return make_error(Code::kInvalidModel, "input {}: found none, expected a value", input);
}

Status expect_dtype(const InferContext& ctx, int input, std::initializer_list<DType> allowed) {
  TUTTI_TRY(expect_tensor(ctx, input));
  if (!ctx.has_input(input) || std::find(allowed.begin(), allowed.end(), ctx.dtype(input)) != allowed.end())
    return ok_status();
  std::string names;
  for (DType dtype : allowed) names += (names.empty() ? "" : " or ") + std::string(ir::dtype_name(dtype));
  return wrong_type(ctx, input, names);
}

Status expect_kind(const InferContext& ctx, int input, bool (*accepts)(DType), std::string_view kind) {
  TUTTI_TRY(expect_tensor(ctx, input));
  if (!ctx.has_input(input) || accepts(ctx.dtype(input))) return ok_status();
  return wrong_type(ctx, input, kind);
}

Status expect_same_dtype(const InferContext& ctx, int first, int second) {
  if (!ctx.has_input(first) || !ctx.has_input(second) || ctx.dtype(first) == ctx.dtype(second)) return ok_status();
  return make_error(Code::kInvalidModel, "input {} has element type {} but input {} has {}; expected equal types",
                    first, ir::dtype_name(ctx.dtype(first)), second, ir::dtype_name(ctx.dtype(second)));
}

Status expect_rank(const InferContext& ctx, int input, int64_t rank) {
  TUTTI_TRY(expect_tensor(ctx, input));
  if (!ctx.has_input(input) || !ctx.shape(input) || ctx.input(input).rank() == rank) return ok_status();
  return make_error(Code::kInvalidModel, "input {} has shape {}; expected rank {}", input,
                    ir::shape_text(*ctx.shape(input)), rank);
}

Status expect_rank_at_least(const InferContext& ctx, int input, int64_t rank) {
  TUTTI_TRY(expect_tensor(ctx, input));
  if (!ctx.has_input(input) || !ctx.shape(input) || ctx.input(input).rank() >= rank) return ok_status();
  return make_error(Code::kInvalidModel, "input {} has shape {}; expected rank {} or more", input,
                    ir::shape_text(*ctx.shape(input)), rank);
}

bool is_number(DType d) { return ir::is_floating(d) || ir::is_integer(d); }
bool is_arithmetic(DType d) { return ir::is_compute_float(d) || (ir::is_integer(d) && ir::dtype_bits(d) >= 8); }
bool is_int32_or_int64(DType d) { return d == DType::kInt32 || d == DType::kInt64; }
bool is_bool(DType d) { return d == DType::kBool; }

Result<std::optional<Shape>> broadcast_inputs(const InferContext& ctx, int first, int last) {
  std::optional<Shape> shape = Shape{};
  for (int i = first; i <= last; ++i) {
    if (!ctx.has_input(i)) continue;
    TUTTI_TRY(expect_tensor(ctx, i));
    if (!ctx.shape(i)) return std::optional<Shape>();
    shape = TUTTI_TRY(ir::broadcast(*shape, *ctx.shape(i)));
  }
  return shape;
}

Result<int64_t> axis_of(const InferContext& ctx, int input, int64_t axis) {
  return ir::normalize_axis(axis, ctx.input(input).rank());
}

Shape fresh_shape(InferContext& ctx, int64_t rank, std::string_view prefix) {
  Shape shape;
  for (int64_t i = 0; i < rank; ++i) shape.push_back(ctx.fresh_dim(prefix));
  return shape;
}

std::optional<int64_t> vector_length(const InferContext& ctx, int input) {
  if (auto value = ctx.dims_value(input)) return static_cast<int64_t>(value->size());
  if (!ctx.shape(input) || ctx.shape(input)->size() != 1) return std::nullopt;
  return ctx.shape(input)->front().constant();
}

ir::Dim product(const Shape& shape, size_t begin, size_t end) {
  ir::Dim result = 1;
  for (size_t i = begin; i < end; ++i) result = result * shape[i];
  return result;
}

Status infer_like_first(InferContext& ctx) {
  ctx.set_output(0, ctx.input(0));
  return ok_status();
}

Status infer_float_like_first(InferContext& ctx) {
  TUTTI_TRY(expect_kind(ctx, 0, ir::is_compute_float, "float32, float64, float16 or bfloat16"));
  return infer_like_first(ctx);
}

Status infer_number_like_first(InferContext& ctx) {
  TUTTI_TRY(expect_kind(ctx, 0, is_arithmetic, "a number"));
  return infer_like_first(ctx);
}

}  // namespace tutti::ops
