#include "ops/elements.h"

#include <cstring>

#include "ops/dispatch.h"

namespace tutti::ops {
namespace {

using ir::Dims;
using ir::DType;
using ir::Tensor;

template <class T, class C>
void load_as(const Tensor& src, int64_t begin, int64_t stride, int64_t count, C* dst) {
  const T* from = static_cast<const T*>(src.raw()) + begin;
  for (int64_t k = 0; k < count; ++k) dst[k] = static_cast<C>(load(from[k * stride]));
}

template <class T, class C>
void store_as(Tensor& dst, int64_t begin, int64_t count, const C* src) {
  T* to = static_cast<T*>(dst.mutable_raw()) + begin;
  for (int64_t k = 0; k < count; ++k) to[k] = store<T>(src[k]);
}

template <class C>
void load_slow(const Tensor& src, int64_t begin, int64_t stride, int64_t count, C* dst) {
  for (int64_t k = 0; k < count; ++k) {
    if constexpr (std::is_same_v<C, double>)
      dst[k] = src.get_double(begin + k * stride);
    else
      dst[k] = static_cast<C>(src.get_int(begin + k * stride));
  }
}

template <class T>
void copy_as(void* dst, const void* src, int64_t stride, int64_t count) {
  T* to = static_cast<T*>(dst);
  const T* from = static_cast<const T*>(src);
  for (int64_t k = 0; k < count; ++k) to[k] = from[k * stride];
}

struct Wide {
  uint64_t low, high;
};

void copy_packed(Tensor& dst, int64_t dst_begin, const Tensor& src, int64_t src_begin, int64_t src_stride,
                 int64_t count) {
  const int bits = ir::dtype_bits(dst.dtype()), per_byte = 8 / bits, mask = (1 << bits) - 1;
  uint8_t* to = static_cast<uint8_t*>(dst.mutable_raw());
  const uint8_t* from = static_cast<const uint8_t*>(src.raw());
  for (int64_t k = 0; k < count; ++k) {
    const int64_t s = src_begin + k * src_stride, d = dst_begin + k;
    const int value = (from[s / per_byte] >> (s % per_byte * bits)) & mask;
    const int shift = static_cast<int>(d % per_byte) * bits;
    uint8_t& byte = to[d / per_byte];
    byte = static_cast<uint8_t>((byte & ~(mask << shift)) | (value << shift));
  }
}

void copy_strings(Tensor& dst, int64_t dst_begin, const Tensor& src, int64_t src_begin, int64_t src_stride,
                  int64_t count) {
  const auto to = dst.mutable_string_data();
  const auto from = src.string_data();
  for (int64_t k = 0; k < count; ++k)
    to[static_cast<size_t>(dst_begin + k)] = from[static_cast<size_t>(src_begin + k * src_stride)];
}

// Elements of axes [from, to).
int64_t extent_of(const Dims& dims, int64_t from, int64_t to) {
  int64_t count = 1;
  for (int64_t i = from; i < to; ++i) count *= dims[static_cast<size_t>(i)];
  return count;
}

}  // namespace

namespace detail {
Status no_kernel_for(DType dtype, std::string_view expected) {
  return make_error(Code::kUnsupported, "element type {} is not supported here; expected {}", ir::dtype_name(dtype),
                    expected);
}
}  // namespace detail

template <class C>
void load_block(const Tensor& src, int64_t begin, int64_t stride, int64_t count, C* dst) {
  switch (src.dtype()) {
    case DType::kFloat32: return load_as<float>(src, begin, stride, count, dst);
    case DType::kFloat64: return load_as<double>(src, begin, stride, count, dst);
    case DType::kFloat16: return load_as<Half>(src, begin, stride, count, dst);
    case DType::kBFloat16: return load_as<BFloat16>(src, begin, stride, count, dst);
    case DType::kInt8: return load_as<int8_t>(src, begin, stride, count, dst);
    case DType::kInt16: return load_as<int16_t>(src, begin, stride, count, dst);
    case DType::kInt32: return load_as<int32_t>(src, begin, stride, count, dst);
    case DType::kInt64: return load_as<int64_t>(src, begin, stride, count, dst);
    case DType::kUInt8: return load_as<uint8_t>(src, begin, stride, count, dst);
    case DType::kUInt16: return load_as<uint16_t>(src, begin, stride, count, dst);
    case DType::kUInt32: return load_as<uint32_t>(src, begin, stride, count, dst);
    case DType::kUInt64: return load_as<uint64_t>(src, begin, stride, count, dst);
    default: return load_slow(src, begin, stride, count, dst);
  }
}

template <class C>
void store_block(Tensor& dst, int64_t begin, int64_t count, const C* src) {
  switch (dst.dtype()) {
    case DType::kFloat32: return store_as<float>(dst, begin, count, src);
    case DType::kFloat64: return store_as<double>(dst, begin, count, src);
    case DType::kFloat16: return store_as<Half>(dst, begin, count, src);
    case DType::kBFloat16: return store_as<BFloat16>(dst, begin, count, src);
    default: break;
  }
  if constexpr (std::is_same_v<C, double>) {  // to an integer or a small float: range rules are the tensor's
    for (int64_t k = 0; k < count; ++k) dst.set_double(begin + k, src[k]);
  } else {
    switch (dst.dtype()) {
      case DType::kInt8:
      case DType::kUInt8: return store_as<uint8_t>(dst, begin, count, src);
      case DType::kInt16:
      case DType::kUInt16: return store_as<uint16_t>(dst, begin, count, src);
      case DType::kInt32:
      case DType::kUInt32: return store_as<uint32_t>(dst, begin, count, src);
      case DType::kInt64:
      case DType::kUInt64: return store_as<uint64_t>(dst, begin, count, src);
      case DType::kBool:
        for (int64_t k = 0; k < count; ++k) dst.mutable_data<uint8_t>()[static_cast<size_t>(begin + k)] = src[k] != 0;
        return;
      default:
        for (int64_t k = 0; k < count; ++k) dst.set_int(begin + k, static_cast<int64_t>(src[k]));
    }
  }
}

template void load_block<double>(const Tensor&, int64_t, int64_t, int64_t, double*);
template void load_block<int64_t>(const Tensor&, int64_t, int64_t, int64_t, int64_t*);
template void load_block<uint64_t>(const Tensor&, int64_t, int64_t, int64_t, uint64_t*);
template void store_block<double>(Tensor&, int64_t, int64_t, const double*);
template void store_block<int64_t>(Tensor&, int64_t, int64_t, const int64_t*);
template void store_block<uint64_t>(Tensor&, int64_t, int64_t, const uint64_t*);

void copy_run(Tensor& dst, int64_t dst_begin, const Tensor& src, int64_t src_begin, int64_t src_stride, int64_t count) {
  if (count <= 0) return;
  if (dst.dtype() == DType::kString) return copy_strings(dst, dst_begin, src, src_begin, src_stride, count);
  const int bits = ir::dtype_bits(dst.dtype());
  if (bits < 8) return copy_packed(dst, dst_begin, src, src_begin, src_stride, count);
  const int64_t width = bits / 8;
  char* to = static_cast<char*>(dst.mutable_raw()) + dst_begin * width;
  const char* from = static_cast<const char*>(src.raw()) + src_begin * width;
  if (src_stride == 1 || count == 1) {
    std::memcpy(to, from, static_cast<size_t>(count * width));
    return;
  }
  switch (width) {
    case 1: return copy_as<uint8_t>(to, from, src_stride, count);
    case 2: return copy_as<uint16_t>(to, from, src_stride, count);
    case 4: return copy_as<uint32_t>(to, from, src_stride, count);
    case 8: return copy_as<uint64_t>(to, from, src_stride, count);
    default: return copy_as<Wide>(to, from, src_stride, count);
  }
}

Tensor slice_range(const Tensor& src, int64_t axis, int64_t start, int64_t length) {
  const Dims& dims = src.dims();
  const int64_t outer = extent_of(dims, 0, axis), inner = extent_of(dims, axis + 1, src.rank());
  const int64_t extent = src.dim(axis);
  Dims out_dims = dims;
  out_dims[static_cast<size_t>(axis)] = length;
  Tensor out = Tensor::zeros(src.dtype(), std::move(out_dims));
  for (int64_t o = 0; o < outer; ++o)
    copy_run(out, o * length * inner, src, (o * extent + start) * inner, 1, length * inner);
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
  const int64_t outer = extent_of(dims, 0, axis), inner = extent_of(dims, axis + 1, first.rank());
  int64_t offset = 0;
  for (const Tensor& part : parts) {
    const int64_t extent = part.dim(axis);
    for (int64_t o = 0; o < outer; ++o)
      copy_run(out, (o * total + offset) * inner, part, o * extent * inner, 1, extent * inner);
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
