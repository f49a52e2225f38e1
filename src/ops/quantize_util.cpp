#include "ops/quantize_util.h"

#include <algorithm>
#include <cmath>

#include "ops/broadcast.h"

namespace tutti::ops {

using ir::Dim;
using ir::Dims;
using ir::DType;
using ir::Shape;
using ir::Tensor;

Result<QuantIndex> QuantIndex::make(const Dims& x, const Dims& scale, int64_t axis, int64_t block_size) {
  QuantIndex index;
  const int64_t count = ir::element_count(scale);
  if (count == 1 && scale.size() <= 1 && block_size == 0) return index;
  if (scale.empty()) return index;
  const auto rank = static_cast<int64_t>(x.size());
  axis = TUTTI_TRY(ir::normalize_axis(axis, rank));
  const int64_t extent = x[static_cast<size_t>(axis)];
  for (int64_t i = axis + 1; i < rank; ++i) index.inner_ *= x[static_cast<size_t>(i)];
  index.extent_ = extent;
  if (scale.size() == 1 && (block_size == 0 || rank > 1)) {
    if (count != extent)
      return make_error(Code::kInvalidInput, "the scale has {} elements, but axis {} of {} has {}", count, axis,
                        ir::dims_text(x), extent);
  } else {
    index.blocks_ = scale.size() == x.size() ? scale[static_cast<size_t>(axis)] : 0;
    if (block_size > 0)
      index.block_ = block_size;
    else if (index.blocks_ > 0)
      index.block_ = (extent + index.blocks_ - 1) / index.blocks_;
    Dims expected = x;
    if (index.block_ > 0)
      expected[static_cast<size_t>(axis)] = extent / index.block_ + (extent % index.block_ != 0 ? 1 : 0);
    if (index.block_ <= 0 || scale != expected)
      return make_error(Code::kInvalidInput, "the scale has dims {}, expected {} for blocks of {} along axis {} of {}",
                        ir::dims_text(scale), ir::dims_text(expected), block_size, axis, ir::dims_text(x));
  }
  if (index.inner_ == 0 || extent == 0) index = {};
  return index;
}

IntRange integer_range(DType dtype) {
  const int bits = std::min(ir::dtype_bits(dtype), 32);
  if (ir::is_signed_integer(dtype)) return {-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
  return {0, (int64_t{1} << bits) - 1};
}

int64_t quantize_value(double value, int64_t zero_point, IntRange range) {
  if (std::isnan(value)) return std::clamp(zero_point, range.min, range.max);
  const double shifted = std::nearbyint(value) + static_cast<double>(zero_point);
  return static_cast<int64_t>(std::clamp(shifted, static_cast<double>(range.min), static_cast<double>(range.max)));
}

Result<QuantParams> read_quant_params(const ir::EvalContext& context, int scale, int zero_point) {
  QuantParams params;
  if (!context.has_input(scale) || context.input(scale).size() != 1)
    return make_error(Code::kUnsupported, "the scale at input {} is not one number", scale);
  params.scale = static_cast<float>(context.input(scale).get_double(0));
  if (!context.has_input(zero_point)) return params;
  if (context.input(zero_point).size() != 1)
    return make_error(Code::kUnsupported, "the zero point at input {} is not one number", zero_point);
  params.zero_point = context.input(zero_point).get_int(0);
  return params;
}

std::vector<float> dequantize_all(const Tensor& tensor, QuantParams params) {
  std::vector<float> out(static_cast<size_t>(tensor.size()));
  for (int64_t i = 0; i < tensor.size(); ++i)
    out[static_cast<size_t>(i)] = static_cast<float>(tensor.get_int(i) - params.zero_point) * params.scale;
  return out;
}

void quantize_all(std::span<const float> values, QuantParams params, Tensor& dst) {
  const IntRange range = integer_range(dst.dtype());
  for (size_t i = 0; i < values.size(); ++i)
    dst.set_int(static_cast<int64_t>(i), quantize_value(values[i] / params.scale, params.zero_point, range));
}

namespace {

// Row-major numbers of the matrices that a broadcast over `out` reads from an operand with batch dims `own`.
std::vector<int64_t> matrix_numbers(const Dims& own, const Dims& out, int64_t count) {
  std::vector<int64_t> numbers;
  const Dims strides = broadcast_strides(own, out);
  Dims index(out.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = 0;
    for (size_t d = 0; d < out.size(); ++d) at += index[d] * strides[d];
    numbers.push_back(at);
    next_index(index, out);
  }
  return numbers;
}

}  // namespace

Result<MatMulShape> matmul_shape(const Dims& a, const Dims& b) {
  if (a.empty() || b.empty()) return Error(Code::kInvalidInput, "a matrix product needs operands of rank 1 or more");
  MatMulShape shape;
  shape.m = a.size() == 1 ? 1 : a[a.size() - 2];
  shape.k = a.back();
  shape.n = b.size() == 1 ? 1 : b.back();
  const int64_t inner = b.size() == 1 ? b[0] : b[b.size() - 2];
  if (inner != shape.k)
    return make_error(Code::kInvalidInput, "cannot multiply {} by {}: {} is not {}", ir::dims_text(a), ir::dims_text(b),
                      shape.k, inner);
  const Dims a_dims(a.begin(), a.size() < 2 ? a.begin() : a.end() - 2),
      b_dims(b.begin(), b.size() < 2 ? b.begin() : b.end() - 2);
  shape.out_dims = TUTTI_TRY(ir::broadcast(a_dims, b_dims));
  shape.batch = TUTTI_TRY(ir::checked_element_count(shape.out_dims));
  shape.a_batch = matrix_numbers(a_dims, shape.out_dims, shape.batch);
  shape.b_batch = matrix_numbers(b_dims, shape.out_dims, shape.batch);
  if (a.size() > 1) shape.out_dims.push_back(shape.m);
  if (b.size() > 1) shape.out_dims.push_back(shape.n);
  return shape;
}

Result<std::optional<Shape>> infer_matmul_shape(const std::optional<Shape>& a, const std::optional<Shape>& b) {
  if (!a || !b) return std::optional<Shape>();
  if (a->empty() || b->empty()) return Error(Code::kInvalidModel, "a matrix product needs operands of rank 1 or more");
  const Dim& inner = b->size() == 1 ? (*b)[0] : (*b)[b->size() - 2];
  if (Dim::never_equal(a->back(), inner))
    return make_error(Code::kInvalidModel, "cannot multiply {} by {}: {} is not {}", ir::shape_text(*a),
                      ir::shape_text(*b), a->back().text(), inner.text());
  const Shape a_dims(a->begin(), a->size() < 2 ? a->begin() : a->end() - 2),
      b_dims(b->begin(), b->size() < 2 ? b->begin() : b->end() - 2);
  Shape out = TUTTI_TRY(ir::broadcast(a_dims, b_dims));
  if (a->size() > 1) out.push_back((*a)[a->size() - 2]);
  if (b->size() > 1) out.push_back(b->back());
  return std::optional(std::move(out));
}

}  // namespace tutti::ops
