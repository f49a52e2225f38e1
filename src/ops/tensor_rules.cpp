#include "ops/tensor_rules.h"

namespace tutti::ops {

using namespace ir;

Status require_float(const InferContext& context, int i, std::string_view name) {
  if (is_compute_float(context.dtype(i)) && context.input(i).is_tensor()) return ok_status();
  return make_error(Code::kInvalidModel, "{} has type {}, expected a tensor of float16, bfloat16, float32 or float64",
                    name, context.input(i).text());
}

Status require_same_types(const InferContext& context, InputNames names) {
  int i = 0;
  for (const std::string_view name : names) {
    if (context.has_input(i) && context.dtype(i) != context.dtype(0))
      return make_error(Code::kInvalidModel, "{} has element type {}, expected {}, the type of {}", name,
                        dtype_name(context.dtype(i)), dtype_name(context.dtype(0)), *names.begin());
    ++i;
  }
  return ok_status();
}

Status require_rank(const InferContext& context, int i, int64_t rank, std::string_view name) {
  if (!context.shape(i) || context.input(i).rank() == rank) return ok_status();
  return make_error(Code::kInvalidModel, "{} has shape {} of rank {}, expected rank {}", name,
                    shape_text(*context.shape(i)), context.input(i).rank(), rank);
}

Status require_equal(const Dim& found, const Dim& expected, std::string_view what) {
  if (!Dim::never_equal(found, expected)) return ok_status();
  return make_error(Code::kInvalidModel, "{} is {}, expected {}", what, found.text(), expected.text());
}

Status require_vector(const InferContext& context, int i, const Dim& length, std::string_view name) {
  if (!context.has_input(i) || !context.shape(i)) return ok_status();
  TUTTI_TRY(require_rank(context, i, 1, name));
  return require_equal((*context.shape(i))[0], length, fmt::format("the length of {}", name));
}

void set_like_input(InferContext& context) {
  context.set_output(0, ValueType::tensor(context.dtype(0), context.shape(0)));
}

Result<Dims> concrete(const Shape& shape) {
  const auto dims = to_dims(shape);
  if (!dims) return make_error(Code::kInternal, "the shape {} has symbols at run time", shape_text(shape));
  TUTTI_TRY(checked_element_count(*dims));
  return *dims;
}

Status require_equal(int64_t found, int64_t expected, std::string_view what) {
  if (found == expected) return ok_status();
  return make_error(Code::kInvalidInput, "{} is {}, expected {}", what, found, expected);
}

Status require_dims(const Tensor& tensor, const Dims& expected, std::string_view name) {
  if (tensor.dims() == expected) return ok_status();
  return make_error(Code::kInvalidInput, "{} has shape {}, expected {}", name, dims_text(tensor.dims()),
                    dims_text(expected));
}

Status require_rank_at_least(const Tensor& tensor, int64_t rank, std::string_view name) {
  if (tensor.rank() >= rank) return ok_status();
  return make_error(Code::kInvalidInput, "{} has shape {}, expected rank {} or more", name, dims_text(tensor.dims()),
                    rank);
}

AxisSplit split_at(const Dims& dims, int64_t axis) {
  AxisSplit split;
  for (int64_t i = 0; i < static_cast<int64_t>(dims.size()); ++i) {
    const int64_t extent = dims[static_cast<size_t>(i)];
    (i < axis ? split.outer : i == axis ? split.extent : split.inner) *= extent;
  }
  return split;
}

}  // namespace tutti::ops
