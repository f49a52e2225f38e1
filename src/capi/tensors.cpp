#include "capi/tensors.h"

#include "capi/guard.h"
#include "ir/shape_hint.h"

namespace tutti::capi {
namespace {

constexpr int32_t kMaxRank = 64;

Result<ir::Dims> dims_from_c(const tutti_tensor& tensor) {
  if (tensor.rank < 0 || tensor.rank > kMaxRank)
    return make_error(Code::kUsage, "tensor.rank: found {}, expected 0 to {}", tensor.rank, kMaxRank);
  if (tensor.rank > 0) TUTTI_TRY(require(tensor.dims, "tensor.dims"));
  ir::Dims dims(tensor.dims, tensor.dims + tensor.rank);
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] < 0) return make_error(Code::kUsage, "tensor.dims[{}]: found {}, expected 0 or more", i, dims[i]);
  TUTTI_TRY(ir::checked_element_count(dims));  // at most 2^48: sizes in bits do not overflow
  return dims;
}

Result<ir::Tensor> strings_from_c(const tutti_tensor& tensor, ir::Dims dims) {
  std::vector<std::string> values;
  const auto* texts = static_cast<const char* const*>(tensor.data);
  for (int64_t i = 0; i < ir::element_count(dims); ++i) {
    if (!texts[i]) return make_error(Code::kUsage, "tensor.data: found NULL as string {}, expected a text", i);
    values.emplace_back(texts[i]);
  }
  return ir::Tensor::strings(std::move(dims), std::move(values));
}

}  // namespace

Status check_alignment(const void* data, ir::DType dtype) {
  const int bits = ir::is_complex(dtype) ? ir::dtype_bits(dtype) / 2 : ir::dtype_bits(dtype);
  const auto alignment = static_cast<uintptr_t>(std::max(bits / 8, 1));
  if (reinterpret_cast<uintptr_t>(data) % alignment == 0) return {};
  return make_error(Code::kUsage, "data: found the address {}, expected a multiple of {} for {}", data, alignment,
                    ir::dtype_name(dtype));
}

Result<ir::Tensor> tensor_from_c(const tutti_tensor& tensor) {
  if (tensor.dtype <= TUTTI_UNDEFINED || tensor.dtype >= ir::kDTypeCount)
    return make_error(Code::kUsage, "tensor.dtype: found {}, expected 1 to {}", tensor.dtype, ir::kDTypeCount - 1);
  const auto dtype = static_cast<ir::DType>(tensor.dtype);
  ir::Dims dims = TUTTI_TRY(dims_from_c(tensor));
  const bool is_string = dtype == ir::DType::kString;
  const auto count = static_cast<size_t>(ir::element_count(dims));
  const size_t bytes = is_string ? count * sizeof(char*) : (count * static_cast<size_t>(ir::dtype_bits(dtype)) + 7) / 8;
  if (tensor.size_bytes != bytes)
    return make_error(Code::kUsage, "tensor.size_bytes: found {}, expected {} for {}{}", tensor.size_bytes, bytes,
                      ir::dtype_name(dtype), ir::dims_text(dims));
  if (count == 0) return ir::Tensor::allocate(dtype, std::move(dims));
  TUTTI_TRY(require(tensor.data, "tensor.data"));
  if (is_string) return strings_from_c(tensor, std::move(dims));
  TUTTI_TRY(check_alignment(tensor.data, dtype));
  return ir::Tensor::view(dtype, std::move(dims), tensor.data, nullptr);
}

std::vector<std::optional<ir::Dims>> known_output_dims(const LoadedEngine& loaded, std::span<const ir::Datum> inputs) {
  std::vector<std::optional<ir::Dims>> out(loaded.outputs.size());
  ir::SymbolValues symbols;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].is_tensor()) continue;
    const runtime::PortInfo& port = loaded.inputs[i].info;
    // A declared max(n,m) stands for broadcasting, which is another thing when a dimension is 0.
    if (inputs[i].tensor().size() == 0) return out;
    if (!ir::bind_shape(port.name, port.type, inputs[i].tensor().dims(), symbols).ok()) return out;
  }
  for (size_t i = 0; i < out.size(); ++i) {
    const ir::ValueType& type = loaded.outputs[i].info.type;
    if (type.is_tensor() && type.shape && type.dtype != ir::DType::kUndefined)
      out[i] = ir::evaluate(*type.shape, symbols);
    if (out[i] && !ir::checked_element_count(*out[i]).ok()) out[i].reset();
  }
  return out;
}

}  // namespace tutti::capi
