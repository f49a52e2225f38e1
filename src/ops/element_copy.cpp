#include "ops/element_copy.h"

#include <algorithm>
#include <cstring>

namespace tutti::ops {
namespace {

using ir::Dims;
using ir::Tensor;

int64_t product(const Dims& dims, int64_t from, int64_t to) {
  int64_t count = 1;
  for (int64_t i = from; i < to; ++i) count *= dims[static_cast<size_t>(i)];
  return count;
}

}  // namespace

void copy_elements(const Tensor& src, int64_t src_start, Tensor& dst, int64_t dst_start, int64_t count) {
  if (count <= 0) return;
  if (src.dtype() == ir::DType::kString) {
    auto from = src.string_data();
    auto to = dst.mutable_string_data();
    std::copy_n(from.begin() + src_start, count, to.begin() + dst_start);
    return;
  }
  const int bits = ir::dtype_bits(src.dtype());
  if (bits % 8 == 0) {
    const int64_t bytes = bits / 8;
    std::memcpy(static_cast<char*>(dst.mutable_raw()) + dst_start * bytes,
                static_cast<const char*>(src.raw()) + src_start * bytes, static_cast<size_t>(count * bytes));
    return;
  }
  auto* to = static_cast<uint8_t*>(dst.mutable_raw());
  const auto* from = static_cast<const uint8_t*>(src.raw());
  const int per_byte = 8 / bits;
  const unsigned mask = (1U << bits) - 1;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t s = src_start + i, d = dst_start + i;
    const unsigned value = (from[s / per_byte] >> (s % per_byte * bits)) & mask;
    const auto shift = static_cast<unsigned>(d % per_byte * bits);
    to[d / per_byte] = static_cast<uint8_t>((to[d / per_byte] & ~(mask << shift)) | (value << shift));
  }
}

Tensor slice_range(const Tensor& src, int64_t axis, int64_t start, int64_t length) {
  const Dims& dims = src.dims();
  const int64_t outer = product(dims, 0, axis), inner = product(dims, axis + 1, src.rank());
  const int64_t extent = src.dim(axis);
  Dims out_dims = dims;
  out_dims[static_cast<size_t>(axis)] = length;
  Tensor out = Tensor::zeros(src.dtype(), std::move(out_dims));
  for (int64_t o = 0; o < outer; ++o)
    copy_elements(src, (o * extent + start) * inner, out, o * length * inner, length * inner);
  return out;
}

Tensor slice_at(const Tensor& src, int64_t axis, int64_t index) {
  Tensor out = slice_range(src, axis, index, 1);
  Dims dims = out.dims();
  dims.erase(dims.begin() + axis);
  return out.reshaped(std::move(dims));
}

Result<Tensor> concat_tensors(std::span<const Tensor> parts, int64_t axis) {
  const Tensor& first = parts.front();
  axis = TUTTI_TRY(ir::normalize_axis(axis, first.rank()));
  Dims dims = first.dims();
  int64_t total = 0;
  for (const Tensor& part : parts) {
    Dims other = part.dims();
    if (part.dtype() != first.dtype() || other.size() != dims.size())
      return make_error(Code::kInvalidInput, "cannot join {} and {} along axis {}: their types differ",
                        first.type_text(), part.type_text(), axis);
    total += part.dim(axis);
    other[static_cast<size_t>(axis)] = first.dim(axis);
    if (other != dims)
      return make_error(Code::kInvalidInput, "cannot join {} and {} along axis {}: the other dimensions differ",
                        first.type_text(), part.type_text(), axis);
  }
  dims[static_cast<size_t>(axis)] = total;
  (void)TUTTI_TRY(ir::checked_element_count(dims));
  Tensor out = Tensor::zeros(first.dtype(), dims);
  const int64_t outer = product(dims, 0, axis), inner = product(dims, axis + 1, first.rank());
  int64_t offset = 0;
  for (const Tensor& part : parts) {
    const int64_t extent = part.dim(axis);
    for (int64_t o = 0; o < outer; ++o)
      copy_elements(part, o * extent * inner, out, (o * total + offset) * inner, extent * inner);
    offset += extent;
  }
  return out;
}

Result<Tensor> stack_tensors(std::span<const Tensor> parts, int64_t axis) {
  axis = TUTTI_TRY(ir::normalize_axis(axis, parts.front().rank() + 1));
  std::vector<Tensor> expanded;
  expanded.reserve(parts.size());
  for (const Tensor& part : parts) {
    if (part.dims() != parts.front().dims())
      return make_error(Code::kInvalidInput, "cannot stack {} and {}: their dimensions differ",
                        parts.front().type_text(), part.type_text());
    Dims dims = part.dims();
    dims.insert(dims.begin() + axis, 1);
    expanded.push_back(part.reshaped(std::move(dims)));
  }
  return concat_tensors(expanded, axis);
}

}  // namespace tutti::ops
