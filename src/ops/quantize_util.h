// Arithmetic that the quantised operators share.
#pragma once

#include <vector>

#include "ir/op_def.h"

namespace tutti::ops {

// Which element of a scale (or zero point) belongs to an element of a tensor: one for all, one per index of an axis, or
// one per block.
class QuantIndex {
 public:
  // `block_size` 0 takes the block from the shapes. Errors when the scale's dims fit none of the three forms.
  static Result<QuantIndex> make(const ir::Dims& x, const ir::Dims& scale, int64_t axis, int64_t block_size);
  int64_t operator()(int64_t element) const {
    if (extent_ == 0) return 0;
    const int64_t at = element / inner_ % extent_;
    if (block_ == 0) return at;
    return (element / (inner_ * extent_) * blocks_ + at / block_) * inner_ + element % inner_;
  }

 private:
  int64_t inner_ = 1, extent_ = 0, block_ = 0, blocks_ = 0;
};

// The least and greatest value of an integer type of at most 32 bits.
struct IntRange {
  int64_t min, max;
};
IntRange integer_range(ir::DType dtype);

// round_to_even(value) + zero_point, clamped to the type's range; NaN gives the zero point.
int64_t quantize_value(double value, int64_t zero_point, IntRange range);

// One scale and zero point for a whole tensor.
struct QuantParams {
  float scale = 1;
  int64_t zero_point = 0;
};
// Inputs `scale` and `zero_point` (may be absent), one element each.
Result<QuantParams> read_quant_params(const ir::EvalContext& context, int scale, int zero_point);
std::vector<float> dequantize_all(const ir::Tensor& tensor, QuantParams params);
// Quantises into an allocated integer tensor.
void quantize_all(std::span<const float> values, QuantParams params, ir::Tensor& dst);

// One matrix product of integers, batched and broadcast like MatMul.
struct MatMulShape {
  int64_t m = 1, k = 1, n = 1, batch = 1;
  std::vector<int64_t> a_batch, b_batch;  // which matrix of a and b each batch entry uses
  ir::Dims out_dims;
};
Result<MatMulShape> matmul_shape(const ir::Dims& a, const ir::Dims& b);
// The symbolic form; nothing when a rank is unknown.
Result<std::optional<ir::Shape>> infer_matmul_shape(const std::optional<ir::Shape>& a,
                                                    const std::optional<ir::Shape>& b);

}  // namespace tutti::ops
