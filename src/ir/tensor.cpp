#include "ir/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

namespace tutti::ir {
namespace {

size_t bytes_of(DType dtype, int64_t count) {
  return (static_cast<size_t>(count) * static_cast<size_t>(dtype_bits(dtype)) + 7) / 8;
}

// Running out of host memory ends the process, as a limit that was reached and not as a bug.
[[noreturn]] void out_of_memory(size_t bytes) {
  std::fprintf(stderr,
               "error: host memory: found no room for a tensor of %zu bytes, expected enough\n"
               "hint: use smaller shapes, or a machine with more memory\n",
               bytes);
  std::_Exit(5);
}

std::shared_ptr<void> allocate_aligned(size_t bytes) {
  const size_t rounded = (bytes + 63) / 64 * 64 + (bytes == 0 ? 64 : 0);
  void* memory = std::aligned_alloc(64, rounded);
  if (memory == nullptr) out_of_memory(rounded);
  return {memory, [](void* p) { std::free(p); }};
}

int packed_value(const void* data, int bits, int64_t index) {
  const int64_t position = index * bits;
  return (static_cast<const uint8_t*>(data)[position / 8] >> (position % 8)) & ((1 << bits) - 1);
}

void set_packed_value(void* data, int bits, int64_t index, int value) {
  const int64_t position = index * bits;
  uint8_t& byte = static_cast<uint8_t*>(data)[position / 8];
  const int mask = ((1 << bits) - 1) << (position % 8);
  byte = static_cast<uint8_t>((byte & ~mask) | ((value << (position % 8)) & mask));
}

int sign_extend(int value, int bits) { return (value ^ (1 << (bits - 1))) - (1 << (bits - 1)); }

template <class T>
T at(const void* data, int64_t index) {
  return static_cast<const T*>(data)[index];
}
template <class T>
void put(void* data, int64_t index, T value) {
  static_cast<T*>(data)[index] = value;
}

// Casting a float that does not fit is undefined in C++; the hardware's answer differs by type, so it is pinned down
// here.
int64_t truncate_to_int64(double value) {
  if (std::isnan(value)) return std::numeric_limits<int64_t>::min();
  if (value >= 9223372036854775808.0) return std::numeric_limits<int64_t>::min();
  if (value < -9223372036854775808.0) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

const MiniFloatFormat* mini_format(DType dtype) {
  switch (dtype) {
    case DType::kFloat8E4M3FN: return &kFloat8E4M3FN;
    case DType::kFloat8E4M3FNUZ: return &kFloat8E4M3FNUZ;
    case DType::kFloat8E5M2: return &kFloat8E5M2;
    case DType::kFloat8E5M2FNUZ: return &kFloat8E5M2FNUZ;
    case DType::kFloat4E2M1: return &kFloat4E2M1;
    default: return nullptr;
  }
}

}  // namespace

Tensor Tensor::allocate(DType dtype, Dims dims) {
  Tensor out;
  out.dtype_ = dtype;
  out.count_ = element_count(dims);
  out.dims_ = std::move(dims);
  if (dtype == DType::kString) {
    auto values = std::make_shared<std::vector<std::string>>(static_cast<size_t>(out.count_));
    out.data_ = values->data();
    out.owner_ = std::move(values);
    return out;
  }
  out.owner_ = allocate_aligned(bytes_of(dtype, out.count_));
  out.data_ = out.owner_.get();
  return out;
}

Tensor Tensor::zeros(DType dtype, Dims dims) {
  Tensor out = allocate(dtype, std::move(dims));
  if (dtype != DType::kString) std::memset(out.data_, 0, out.size_bytes());
  return out;
}

Tensor Tensor::view(DType dtype, Dims dims, const void* data, std::shared_ptr<const void> owner) {
  TUTTI_CHECK(dtype != DType::kString, "string tensors own their data");
  Tensor out;
  out.dtype_ = dtype;
  out.count_ = element_count(dims);
  out.dims_ = std::move(dims);
  out.data_ = const_cast<void*>(data);  // a view of read-only memory is only ever read
  out.owner_ = std::const_pointer_cast<void>(std::move(owner));
  return out;
}

Tensor Tensor::mapped_view(DType dtype, Dims dims, const void* data, std::shared_ptr<const void> owner) {
  Tensor out = view(dtype, std::move(dims), data, std::move(owner));
  out.file_backed_ = true;
  return out;
}

Tensor Tensor::strings(Dims dims, std::vector<std::string> values) {
  Tensor out;
  out.dtype_ = DType::kString;
  out.count_ = element_count(dims);
  TUTTI_CHECK(out.count_ == static_cast<int64_t>(values.size()));
  out.dims_ = std::move(dims);
  auto held = std::make_shared<std::vector<std::string>>(std::move(values));
  out.data_ = held->data();
  out.owner_ = std::move(held);
  return out;
}

size_t Tensor::size_bytes() const { return bytes_of(dtype_, count_); }

std::span<const std::string> Tensor::string_data() const {
  TUTTI_CHECK(dtype_ == DType::kString);
  return {static_cast<const std::string*>(data_), static_cast<size_t>(count_)};
}

std::span<std::string> Tensor::mutable_string_data() {
  TUTTI_CHECK(dtype_ == DType::kString);
  return {static_cast<std::string*>(data_), static_cast<size_t>(count_)};
}

double Tensor::get_double(int64_t i) const {
  switch (dtype_) {
    case DType::kFloat32: return at<float>(data_, i);
    case DType::kFloat64: return at<double>(data_, i);
    case DType::kFloat16: return half_to_float(at<Half>(data_, i));
    case DType::kBFloat16: return bfloat16_to_float(at<BFloat16>(data_, i));
    case DType::kFloat8E8M0: return e8m0_to_float(at<uint8_t>(data_, i));
    case DType::kFloat4E2M1: return mini_to_float(kFloat4E2M1, static_cast<uint8_t>(packed_value(data_, 4, i)));
    case DType::kUInt64: return static_cast<double>(at<uint64_t>(data_, i));
    default: break;
  }
  if (const MiniFloatFormat* format = mini_format(dtype_)) return mini_to_float(*format, at<uint8_t>(data_, i));
  return static_cast<double>(get_int(i));
}

int64_t Tensor::get_int(int64_t i) const {
  switch (dtype_) {
    case DType::kInt8: return at<int8_t>(data_, i);
    case DType::kInt16: return at<int16_t>(data_, i);
    case DType::kInt32: return at<int32_t>(data_, i);
    case DType::kInt64: return at<int64_t>(data_, i);
    case DType::kUInt8: return at<uint8_t>(data_, i);
    case DType::kUInt16: return at<uint16_t>(data_, i);
    case DType::kUInt32: return at<uint32_t>(data_, i);
    case DType::kUInt64: return static_cast<int64_t>(at<uint64_t>(data_, i));
    case DType::kBool: return at<uint8_t>(data_, i) != 0;
    case DType::kInt4: return sign_extend(packed_value(data_, 4, i), 4);
    case DType::kUInt4: return packed_value(data_, 4, i);
    case DType::kInt2: return sign_extend(packed_value(data_, 2, i), 2);
    case DType::kUInt2: return packed_value(data_, 2, i);
    default: break;
  }
  TUTTI_CHECK(is_floating(dtype_), "get_int of {}", dtype_name(dtype_));
  return truncate_to_int64(get_double(i));
}

void Tensor::set_double(int64_t i, double value) {
  switch (dtype_) {
    case DType::kFloat32: return put(data_, i, static_cast<float>(value));
    case DType::kFloat64: return put(data_, i, value);
    case DType::kFloat16: return put(data_, i, float_to_half(static_cast<float>(value)));
    case DType::kBFloat16: return put(data_, i, float_to_bfloat16(static_cast<float>(value)));
    case DType::kFloat8E8M0: return put(data_, i, float_to_e8m0(static_cast<float>(value), true, E8m0Rounding::kUp));
    case DType::kFloat4E2M1:
      return set_packed_value(data_, 4, i, float_to_mini(kFloat4E2M1, static_cast<float>(value), true));
    case DType::kBool: return put<uint8_t>(data_, i, value != 0);
    case DType::kUInt64:
      return put(data_, i,
                 value >= 9223372036854775808.0 && value < 18446744073709551616.0
                     ? static_cast<uint64_t>(value - 9223372036854775808.0) + (uint64_t{1} << 63)
                     : static_cast<uint64_t>(truncate_to_int64(value)));
    default: break;
  }
  if (const MiniFloatFormat* format = mini_format(dtype_))
    return put(data_, i, float_to_mini(*format, static_cast<float>(value), true));
  set_int(i, truncate_to_int64(value));
}

void Tensor::set_int(int64_t i, int64_t value) {
  switch (dtype_) {
    case DType::kInt8:
    case DType::kUInt8: return put(data_, i, static_cast<uint8_t>(value));
    case DType::kInt16:
    case DType::kUInt16: return put(data_, i, static_cast<uint16_t>(value));
    case DType::kInt32:
    case DType::kUInt32: return put(data_, i, static_cast<uint32_t>(value));
    case DType::kInt64:
    case DType::kUInt64: return put(data_, i, value);
    case DType::kBool: return put<uint8_t>(data_, i, value != 0);
    case DType::kInt4:
    case DType::kUInt4: return set_packed_value(data_, 4, i, static_cast<int>(value & 15));
    case DType::kInt2:
    case DType::kUInt2: return set_packed_value(data_, 2, i, static_cast<int>(value & 3));
    default: return set_double(i, static_cast<double>(value));
  }
}

std::vector<int64_t> Tensor::to_int64() const {
  std::vector<int64_t> out(static_cast<size_t>(count_));
  for (int64_t i = 0; i < count_; ++i) out[static_cast<size_t>(i)] = get_int(i);
  return out;
}

std::vector<float> Tensor::to_float() const {
  std::vector<float> out(static_cast<size_t>(count_));
  for (int64_t i = 0; i < count_; ++i) out[static_cast<size_t>(i)] = static_cast<float>(get_double(i));
  return out;
}

Tensor Tensor::reshaped(Dims dims) const {
  TUTTI_CHECK(element_count(dims) == count_, "reshape {} to {}", dims_text(dims_), dims_text(dims));
  Tensor out = *this;
  out.dims_ = std::move(dims);
  return out;
}

Tensor Tensor::clone() const {
  if (dtype_ == DType::kString) return strings(dims_, {string_data().begin(), string_data().end()});
  if (!defined()) return {};
  Tensor out = allocate(dtype_, dims_);
  if (size_bytes() > 0) std::memcpy(out.data_, data_, size_bytes());
  return out;
}

std::string Tensor::type_text() const { return fmt::format("{}{}", dtype_name(dtype_), dims_text(dims_)); }

bool identical(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.dims() != b.dims()) return false;
  if (a.dtype() == DType::kString)
    return std::equal(a.string_data().begin(), a.string_data().end(), b.string_data().begin());
  if (dtype_bits(a.dtype()) % 8 != 0) {  // unused bits of the last byte do not count
    for (int64_t i = 0; i < a.size(); ++i)
      if (packed_value(a.raw(), dtype_bits(a.dtype()), i) != packed_value(b.raw(), dtype_bits(b.dtype()), i))
        return false;
    return true;
  }
  return a.size_bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.size_bytes()) == 0;
}

}  // namespace tutti::ir
