#include "ir/content_hash.h"

#include "base/hash.h"

namespace tutti::ir {
namespace {

uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
  return hash ^ (hash >> 29);
}

}  // namespace

uint64_t content_hash(const Tensor& tensor) {
  uint64_t hash = mix(0x7475747469ull, static_cast<uint64_t>(tensor.dtype()));
  for (const int64_t dim : tensor.dims()) hash = mix(hash, static_cast<uint64_t>(dim));
  if (tensor.dtype() != DType::kString)
    return mix(hash, hash128(std::span(static_cast<const std::byte*>(tensor.raw()), tensor.size_bytes())).low);
  for (const std::string& text : tensor.string_data()) hash = mix(hash, hash128(text).low);
  return hash;
}

}  // namespace tutti::ir
