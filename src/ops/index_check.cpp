#include "ops/index_check.h"

namespace tutti::ops {

Result<int64_t> checked_index(int64_t index, int64_t size) {
  if (index < -size || index >= size)
    return make_error(Code::kInvalidInput, "index {} is out of bounds; expected {} to {}", index, -size, size - 1);
  return index < 0 ? index + size : index;
}

Result<std::vector<int64_t>> checked_indices(const ir::Tensor& indices, int64_t size) {
  std::vector<int64_t> out = indices.to_int64();
  for (int64_t& index : out) index = TUTTI_TRY(checked_index(index, size));
  return out;
}

Status check_index_dims(const ir::Tensor& indices, const ir::Tensor& data, size_t axis) {
  bool fits = indices.rank() == data.rank();
  for (size_t i = 0; fits && i < data.dims().size(); ++i) fits = i == axis || indices.dims()[i] <= data.dims()[i];
  if (fits) return ok_status();
  return make_error(Code::kInvalidInput, "indices {} do not fit data {} along axis {}", indices.type_text(),
                    data.type_text(), axis);
}

}  // namespace tutti::ops
