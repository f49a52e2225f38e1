// Lays out the weights section and streams it. Internal to save.
#pragma once

#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "ir/tensor.h"

namespace tutti::engine {

inline constexpr size_t kInlineBytes = 1024;  // smaller data stand in the manifest, whose hash is always checked
inline constexpr uint64_t kTensorAlignment = 64;
inline constexpr uint64_t kLargeAlignment = 4096;  // whole pages can be dropped
inline constexpr size_t kLargeBytes = 64 << 10;
inline constexpr uint64_t kBlockBytes = 1 << 20;  // of which each has its own hash

struct WeightPlace {
  uint64_t offset = 0;
  Hash128 hash;
};

struct WeightHashes {
  Sha256Digest sha256;
  std::vector<Hash128> blocks;
};

// Equal bytes get one place. One thread at a time.
class WeightsWriter {
 public:
  // Hashes the tensor, and drops its pages when it is file-backed.
  const WeightPlace& add(const ir::Tensor& tensor);
  // Calls `write` with the whole section in order, gaps as zeros, and hashes it on the way.
  Result<WeightHashes> stream(const std::function<Status(std::span<const std::byte>)>& write) const;
  uint64_t size_bytes() const { return size_; }

 private:
  using Content = std::pair<Hash128, uint64_t>;  // and size
  std::map<Content, WeightPlace> by_content_;
  std::unordered_map<const void*, std::pair<uint64_t, WeightPlace*>>
      by_address_;                                        // with the size, so that nothing is hashed twice
  std::vector<std::pair<uint64_t, ir::Tensor>> tensors_;  // by offset
  uint64_t size_ = 0;
};

std::span<const std::byte> bytes_of(const ir::Tensor& tensor);

}  // namespace tutti::engine
