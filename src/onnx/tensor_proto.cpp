#include "onnx/tensor_proto.h"

#include <algorithm>
#include <cstring>

namespace tutti::onnx {
namespace {

using ir::Dims;
using ir::DType;
using ir::Tensor;

static_assert(std::endian::native == std::endian::little, "raw_data is little-endian and is used as it stands");

uint64_t bytes_for(DType dtype, int64_t count) {
  return (static_cast<uint64_t>(count) * static_cast<uint64_t>(ir::dtype_bits(dtype)) + 7) / 8;
}

size_t alignment_of(DType dtype) { return static_cast<size_t>(std::clamp(ir::dtype_bits(dtype) / 8, 1, 8)); }

bool is_aligned(const void* data, DType dtype) { return reinterpret_cast<uintptr_t>(data) % alignment_of(dtype) == 0; }

// Bytes other than 0 and 1 are no C++ bools; any of them counts as true.
bool has_odd_bools(DType dtype, std::span<const std::byte> bytes) {
  return dtype == DType::kBool && std::any_of(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; });
}

Tensor copy_bytes(DType dtype, const Dims& dims, std::span<const std::byte> bytes) {
  Tensor out = Tensor::allocate(dtype, dims);
  if (dtype == DType::kBool)
    for (size_t i = 0; i < bytes.size(); ++i) out.mutable_data<uint8_t>()[i] = bytes[i] != std::byte{0};
  else if (!bytes.empty())
    std::memcpy(out.mutable_raw(), bytes.data(), bytes.size());
  return out;
}

Error wrong_count(std::string_view field, uint64_t found, uint64_t expected, std::string_view unit) {
  return make_error(Code::kInvalidModel, "{}: found {} {}, expected {} (from type and dims)", field, found, unit,
                    expected);
}

// Values of a repeated field, each narrowed to `Stored`.
template <class Stored, class Field>
Result<Tensor> from_field(DType dtype, const Dims& dims, const Field& field, std::string_view name) {
  const uint64_t expected = bytes_for(dtype, ir::element_count(dims)) / sizeof(Stored);
  if (static_cast<uint64_t>(field.size()) != expected)
    return wrong_count(name, static_cast<uint64_t>(field.size()), expected, "values");
  Tensor out = Tensor::allocate(dtype, dims);
  Stored* dst = static_cast<Stored*>(out.mutable_raw());
  for (int i = 0; i < field.size(); ++i) dst[i] = static_cast<Stored>(field.Get(i));
  return out;
}

Result<Tensor> from_strings(const Dims& dims, const pb::TensorProto& proto) {
  const uint64_t expected = static_cast<uint64_t>(ir::element_count(dims));
  if (static_cast<uint64_t>(proto.string_data_size()) != expected)
    return wrong_count("string_data", static_cast<uint64_t>(proto.string_data_size()), expected, "values");
  return Tensor::strings(dims, {proto.string_data().begin(), proto.string_data().end()});
}

// Types of 8 bits and less; packed types hold one byte of several elements per number.
Result<Tensor> from_small_integers(DType dtype, const Dims& dims, const pb::TensorProto& proto) {
  Tensor out = TUTTI_TRY(from_field<uint8_t>(dtype, dims, proto.int32_data(), "int32_data"));
  if (dtype == DType::kBool)
    for (int i = 0; i < proto.int32_data_size(); ++i)
      out.mutable_data<uint8_t>()[static_cast<size_t>(i)] = proto.int32_data(i) != 0;
  return out;
}

Result<Tensor> from_typed_fields(DType dtype, const Dims& dims, const pb::TensorProto& proto) {
  switch (dtype) {
    case DType::kFloat32:
    case DType::kComplex64: return from_field<float>(dtype, dims, proto.float_data(), "float_data");
    case DType::kFloat64:
    case DType::kComplex128: return from_field<double>(dtype, dims, proto.double_data(), "double_data");
    case DType::kInt64: return from_field<int64_t>(dtype, dims, proto.int64_data(), "int64_data");
    case DType::kUInt64: return from_field<uint64_t>(dtype, dims, proto.uint64_data(), "uint64_data");
    case DType::kUInt32: return from_field<uint32_t>(dtype, dims, proto.uint64_data(), "uint64_data");
    case DType::kInt32: return from_field<int32_t>(dtype, dims, proto.int32_data(), "int32_data");
    case DType::kInt16:
    case DType::kUInt16:
    case DType::kFloat16:
    case DType::kBFloat16: return from_field<uint16_t>(dtype, dims, proto.int32_data(), "int32_data");
    case DType::kString: return from_strings(dims, proto);
    default: return from_small_integers(dtype, dims, proto);
  }
}

Result<Tensor> from_raw(DType dtype, const Dims& dims, pb::TensorProto& proto, bool take) {
  constexpr size_t kTooSmallToMove = 64;
  const std::string& raw = proto.raw_data();
  const uint64_t expected = bytes_for(dtype, ir::element_count(dims));
  if (dtype == DType::kString)
    return make_error(Code::kInvalidModel, "found strings in raw_data, expected string_data");
  if (raw.size() != expected) return wrong_count("raw_data", raw.size(), expected, "bytes");
  const auto bytes = std::as_bytes(std::span(raw.data(), raw.size()));
  if (!take || raw.size() < kTooSmallToMove || !is_aligned(raw.data(), dtype) || has_odd_bools(dtype, bytes))
    return copy_bytes(dtype, dims, bytes);
  const std::shared_ptr<const std::string> owner(proto.release_raw_data());
  return Tensor::view(dtype, dims, owner->data(), owner);
}

Result<Tensor> from_external(DType dtype, const Dims& dims, const pb::TensorProto& proto, ExternalData* external) {
  if (dtype == DType::kString)
    return make_error(Code::kInvalidModel, "found strings in external data, expected string_data");
  if (!external) return make_error(Code::kInvalidModel, "found external data, expected the data in the same file");
  const ExternalBytes found = TUTTI_TRY(external->find(proto, bytes_for(dtype, ir::element_count(dims))));
  if (found.bytes.empty() || !is_aligned(found.bytes.data(), dtype) || has_odd_bools(dtype, found.bytes))
    return copy_bytes(dtype, dims, found.bytes);
  return Tensor::mapped_view(dtype, dims, found.bytes.data(), found.file);
}

Result<Tensor> read_unnamed(pb::TensorProto& proto, const TensorReadOptions& options) {
  const DType dtype = TUTTI_TRY(read_dtype(proto.data_type()));
  const Dims dims(proto.dims().begin(), proto.dims().end());
  TUTTI_TRY(ir::checked_element_count(dims));
  if (proto.has_segment()) return make_error(Code::kUnsupported, "found a tensor in segments, expected a whole one");
  if (proto.data_location() == pb::TensorProto::EXTERNAL) return from_external(dtype, dims, proto, options.external);
  if (proto.has_raw_data()) return from_raw(dtype, dims, proto, options.take_data);
  return from_typed_fields(dtype, dims, proto);
}

// Where element `row` of a sparse tensor goes; indices are linear (rank 1) or one row of coordinates each.
Result<int64_t> dense_position(const Tensor& indices, int64_t row, const Dims& dims) {
  const int64_t count = ir::element_count(dims);
  int64_t position = 0;
  if (indices.rank() == 1) {
    position = indices.get_int(row);
  } else {
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      const int64_t coordinate = indices.get_int(row * static_cast<int64_t>(dims.size()) + static_cast<int64_t>(axis));
      if (coordinate < 0 || coordinate >= dims[axis])
        return make_error(Code::kInvalidModel, "sparse index {} of axis {}: expected 0 to {}", coordinate, axis,
                          dims[axis] - 1);
      position = position * dims[axis] + coordinate;
    }
  }
  if (position < 0 || position >= count)
    return make_error(Code::kInvalidModel, "sparse index {}: expected 0 to {}", position, count - 1);
  return position;
}

}  // namespace

Result<DType> read_dtype(int64_t data_type) {
  if (data_type > 0 && data_type < ir::kDTypeCount) return static_cast<DType>(data_type);
  return make_error(Code::kInvalidModel, "found element type {}, expected 1 to {}", data_type, ir::kDTypeCount - 1);
}

Result<Tensor> read_tensor(pb::TensorProto& proto, const TensorReadOptions& options) {
  return read_unnamed(proto, options).with_context(fmt::format("tensor '{}'", proto.name()));
}

Result<Tensor> read_sparse_tensor(pb::SparseTensorProto& proto, const TensorReadOptions& options) {
  const std::string context = fmt::format("sparse tensor '{}'", proto.values().name());
  const Tensor values = TUTTI_TRY(read_tensor(*proto.mutable_values(), options));
  const Tensor indices = TUTTI_TRY(read_tensor(*proto.mutable_indices(), options));
  const Dims dims(proto.dims().begin(), proto.dims().end());
  const int64_t count = TUTTI_TRY(ir::checked_element_count(dims).with_context(context));
  const bool coordinates = indices.rank() == 2 && indices.dim(1) == static_cast<int64_t>(dims.size());
  if (values.rank() != 1 || indices.dtype() != DType::kInt64 || (indices.rank() != 1 && !coordinates) ||
      indices.dim(0) != values.dim(0))
    return make_error(Code::kInvalidModel,
                      "{}: found values {} and indices {}, expected [n] and int64[n] or int64[n,{}]", context,
                      values.type_text(), indices.type_text(), dims.size());
  if (values.dtype() == DType::kString || ir::dtype_bits(values.dtype()) < 8)
    return make_error(Code::kUnsupported, "{}: found element type {}, expected one of whole bytes", context,
                      ir::dtype_name(values.dtype()));
  const uint64_t bytes = bytes_for(values.dtype(), count);
  if (bytes > options.max_expanded_bytes)
    return make_error(Code::kLimit, "{}: found {} bytes when dense, expected at most {}", context, bytes,
                      options.max_expanded_bytes);
  Tensor out = Tensor::zeros(values.dtype(), dims);
  const size_t width = static_cast<size_t>(ir::dtype_bits(values.dtype())) / 8;
  for (int64_t i = 0; i < values.size(); ++i) {
    const int64_t at = TUTTI_TRY(dense_position(indices, i, dims).with_context(context));
    std::memcpy(static_cast<char*>(out.mutable_raw()) + static_cast<size_t>(at) * width,
                static_cast<const char*>(values.raw()) + static_cast<size_t>(i) * width, width);
  }
  return out;
}

void write_tensor(const Tensor& tensor, pb::TensorProto& proto) {
  proto.set_data_type(static_cast<int32_t>(tensor.dtype()));
  for (const int64_t dim : tensor.dims()) proto.add_dims(dim);
  if (tensor.dtype() == DType::kString)
    for (const std::string& text : tensor.string_data()) proto.add_string_data(text);
  else
    proto.set_raw_data(tensor.raw(), tensor.size_bytes());
}

}  // namespace tutti::onnx
