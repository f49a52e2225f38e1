#include "engine/weights_writer.h"

#include <algorithm>
#include <array>

#include "engine/file_pages.h"

namespace tutti::engine {
namespace {

constexpr uint64_t align_up(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

// Hashes what passes through: all of it, and each block.
class SectionHasher {
 public:
  void update(std::span<const std::byte> bytes) {
    sha_.update(bytes);
    while (!bytes.empty()) {
      const size_t part = std::min<uint64_t>(bytes.size(), kBlockBytes - filled_);
      block_.update(bytes.first(part));
      bytes = bytes.subspan(part);
      filled_ += part;
      if (filled_ == kBlockBytes) finish_block();
    }
  }
  WeightHashes finish() {
    if (filled_ > 0) finish_block();
    out_.sha256 = sha_.finish();
    return std::move(out_);
  }

 private:
  void finish_block() {
    out_.blocks.push_back(block_.digest());
    block_ = Hasher128();
    filled_ = 0;
  }
  Sha256 sha_;
  Hasher128 block_;
  uint64_t filled_ = 0;
  WeightHashes out_;
};

}  // namespace

std::span<const std::byte> bytes_of(const ir::Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.raw()), tensor.size_bytes()};
}

const WeightPlace& WeightsWriter::add(const ir::Tensor& tensor) {
  const uint64_t size = tensor.size_bytes();
  const auto seen = by_address_.find(tensor.raw());
  if (seen != by_address_.end() && seen->second.first == size) return *seen->second.second;
  const Hash128 hash = hash128(bytes_of(tensor));
  drop_pages(tensor);
  const auto [at, is_new] = by_content_.try_emplace({hash, size});
  if (is_new) {
    size_ = align_up(size_, size >= kLargeBytes ? kLargeAlignment : kTensorAlignment);
    at->second = {size_, hash};
    tensors_.emplace_back(size_, tensor);
    size_ += size;
  }
  by_address_[tensor.raw()] = {size, &at->second};
  return at->second;
}

Result<WeightHashes> WeightsWriter::stream(const std::function<Status(std::span<const std::byte>)>& write) const {
  static constexpr std::array<std::byte, kLargeAlignment> zeros{};
  SectionHasher hasher;
  uint64_t position = 0;
  auto put = [&](std::span<const std::byte> bytes) -> Status {
    hasher.update(bytes);
    position += bytes.size();
    return write(bytes);
  };
  for (const auto& [offset, tensor] : tensors_) {
    TUTTI_TRY(put(std::span(zeros).first(offset - position)));
    for (std::span<const std::byte> rest = bytes_of(tensor); !rest.empty();) {
      const auto part = rest.first(std::min<size_t>(rest.size(), kBlockBytes));
      TUTTI_TRY(put(part));
      rest = rest.subspan(part.size());
    }
    drop_pages(tensor);
  }
  return hasher.finish();
}

}  // namespace tutti::engine
