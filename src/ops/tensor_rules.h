// Checks that the shape rules of tensor operators share. Errors say which input, what was found and what was expected.
#pragma once

#include <initializer_list>
#include <string_view>

#include "ir/op_def.h"

namespace tutti::ops {

// Names of the inputs for error texts, by position.
using InputNames = std::initializer_list<std::string_view>;

// Input `i` is a tensor of float16, bfloat16, float32 or float64.
Status require_float(const ir::InferContext& context, int i, std::string_view name);
// Every present input in `inputs` has the type of input 0.
Status require_same_types(const ir::InferContext& context, InputNames names);
Status require_rank(const ir::InferContext& context, int i, int64_t rank, std::string_view name);
// Refuses two dimensions that can never be equal: "W has 3 input channels, expected 4".
Status require_equal(const ir::Dim& found, const ir::Dim& expected, std::string_view what);
// Input `i`, when present and ranked, is a vector of `length` elements.
Status require_vector(const ir::InferContext& context, int i, const ir::Dim& length, std::string_view name);
// Output 0 has the type and shape of input 0.
void set_like_input(ir::InferContext& context);

// The numbers of a shape that a shape function made from constant dims, checked for negative dims and overflow.
Result<ir::Dims> concrete(const ir::Shape& shape);
// Run-time forms of the checks above, for kernels.
Status require_equal(int64_t found, int64_t expected, std::string_view what);
Status require_dims(const ir::Tensor& tensor, const ir::Dims& expected, std::string_view name);
Status require_rank_at_least(const ir::Tensor& tensor, int64_t rank, std::string_view name);

// "X" as [outer, axis, inner]: the extents before, at and after `axis`.
struct AxisSplit {
  int64_t outer = 1, extent = 1, inner = 1;
};
AxisSplit split_at(const ir::Dims& dims, int64_t axis);

}  // namespace tutti::ops
