#include "ir/content_hash.h"

#include <cstring>

namespace tutti::ir {
namespace {

uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
  return hash ^ (hash >> 29);
}

uint64_t mix_bytes(uint64_t hash, const char* bytes, size_t count) {
  uint64_t word = 0;
  size_t at = 0;
  for (; at + 8 <= count; at += 8) {
    std::memcpy(&word, bytes + at, 8);
    hash = mix(hash, word);
  }
  word = 0;
  if (at < count) std::memcpy(&word, bytes + at, count - at);
  return mix(mix(hash, word), count);
}

}  // namespace

uint64_t content_hash(const Tensor& tensor) {
  uint64_t hash = mix(0x7475747469ull, static_cast<uint64_t>(tensor.dtype()));
  for (const int64_t dim : tensor.dims()) hash = mix(hash, static_cast<uint64_t>(dim));
  if (tensor.dtype() != DType::kString)
    return mix_bytes(hash, static_cast<const char*>(tensor.raw()), tensor.size_bytes());
  for (const std::string& text : tensor.string_data()) hash = mix_bytes(hash, text.data(), text.size());
  return hash;
}

}  // namespace tutti::ir
