// The fixed first bytes of an engine file. Internal to save and load.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/error.h"
#include "base/hash.h"

namespace tutti::engine {

inline constexpr size_t kHeaderBytes = 128;
inline constexpr uint64_t kWeightsSectionAlignment = 4096;

struct Header {
  uint32_t version = 0;
  std::string writer;
  uint64_t file_bytes = 0;
  uint64_t manifest_offset = 0, manifest_bytes = 0;
  uint64_t weights_offset = 0, weights_bytes = 0;
  Sha256Digest digest;  // of the header before it, and the manifest
};

std::array<std::byte, kHeaderBytes> encode_header(const Header& header);

// Checks magic, version, size and that the sections lie inside the file, in this order. `file` is the whole file.
Result<Header> decode_header(std::span<const std::byte> file);

// What Header::digest must be.
Sha256Digest digest_of(std::span<const std::byte> header, std::span<const std::byte> manifest);

bool has_magic(std::span<const std::byte> file);

}  // namespace tutti::engine
