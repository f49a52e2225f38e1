#include "engine/header.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "engine/format.h"

namespace tutti::engine {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are stored as they are in memory");

constexpr char kMagic[8] = {'T', 'U', 'T', 'T', 'I', 0, 0, 0};
// Magic, version and writer stay where they are in every version.
constexpr size_t kVersionAt = 8, kHeaderBytesAt = 12, kWriterAt = 16, kWriterBytes = 32;
constexpr size_t kNumbersAt = 48, kDigestAt = 88;

template <class T>
T get(std::span<const std::byte> bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

template <class T>
void put(std::span<std::byte> bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

Error truncated(uint64_t found, std::string_view expected) {
  return make_error(Code::kCorrupt, "engine file is truncated: found {} bytes, expected {}", found, expected)
      .with_hint("copy the file again, or build the engine again from its model");
}

std::string read_writer(std::span<const std::byte> file) {
  std::string out;
  for (size_t i = 0; i < kWriterBytes && kWriterAt + i < file.size(); ++i) {
    const char c = static_cast<char>(file[kWriterAt + i]);
    if (c == 0) break;
    out += c >= 0x20 && c < 0x7f ? c : '?';
  }
  return out;
}

Status check_version(const Header& header) {
  if (header.version == kFormatVersion) return {};
  if (header.version > kFormatVersion)
    return make_error(
               Code::kVersion,
               "engine format: found version {} (written by Tutti {}), expected {}, the newest that this one reads",
               header.version, header.writer, kFormatVersion)
        .with_hint("update Tutti, or build the engine again from its model with this one");
  return make_error(Code::kVersion, "engine format: found version {} (written by Tutti {}), expected {}",
                    header.version, header.writer, kFormatVersion)
      .with_hint("build the engine again from its model");
}

Status check_section(std::string_view name, uint64_t offset, uint64_t bytes, const Header& header, uint64_t alignment) {
  if (offset >= kHeaderBytes && offset <= header.file_bytes && bytes <= header.file_bytes - offset &&
      offset % alignment == 0)
    return {};
  return make_error(Code::kCorrupt,
                    "engine file: found the {} section at {} with {} bytes, expected it aligned to {} inside {} bytes",
                    name, offset, bytes, alignment, header.file_bytes);
}

}  // namespace

std::array<std::byte, kHeaderBytes> encode_header(const Header& header) {
  std::array<std::byte, kHeaderBytes> out{};
  std::memcpy(out.data(), kMagic, sizeof kMagic);
  put(out, kVersionAt, header.version);
  put(out, kHeaderBytesAt, static_cast<uint32_t>(kHeaderBytes));
  std::memcpy(out.data() + kWriterAt, header.writer.data(), std::min(header.writer.size(), kWriterBytes - 1));
  const uint64_t numbers[] = {header.file_bytes, header.manifest_offset, header.manifest_bytes, header.weights_offset,
                              header.weights_bytes};
  std::memcpy(out.data() + kNumbersAt, numbers, sizeof numbers);
  std::memcpy(out.data() + kDigestAt, header.digest.bytes.data(), header.digest.bytes.size());
  return out;
}

Result<Header> decode_header(std::span<const std::byte> file) {
  if (!has_magic(file))
    return make_error(Code::kInvalidInput, "not an engine file: found other first bytes, expected \"TUTTI\"")
        .with_hint("give a file that `tutti build` has written, or an .onnx model");
  if (file.size() < kHeaderBytes) return truncated(file.size(), fmt::format("at least {}", kHeaderBytes));
  Header header;
  header.version = get<uint32_t>(file, kVersionAt);
  header.writer = read_writer(file);
  TUTTI_TRY(check_version(header));
  uint64_t numbers[5];
  std::memcpy(numbers, file.data() + kNumbersAt, sizeof numbers);
  header.file_bytes = numbers[0];
  header.manifest_offset = numbers[1];
  header.manifest_bytes = numbers[2];
  header.weights_offset = numbers[3];
  header.weights_bytes = numbers[4];
  std::memcpy(header.digest.bytes.data(), file.data() + kDigestAt, header.digest.bytes.size());
  if (file.size() < header.file_bytes) return truncated(file.size(), std::to_string(header.file_bytes));
  if (file.size() > header.file_bytes)
    return make_error(Code::kCorrupt, "engine file: found {} bytes, expected {}", file.size(), header.file_bytes);
  TUTTI_TRY(check_section("manifest", header.manifest_offset, header.manifest_bytes, header, 64));
  TUTTI_TRY(check_section("weights", header.weights_offset, header.weights_bytes, header, kWeightsSectionAlignment));
  return header;
}

Sha256Digest digest_of(std::span<const std::byte> header, std::span<const std::byte> manifest) {
  Sha256 hash;
  hash.update(header.first(kDigestAt));
  hash.update(manifest);
  return hash.finish();
}

bool has_magic(std::span<const std::byte> file) {
  return file.size() >= sizeof kMagic && std::memcmp(file.data(), kMagic, sizeof kMagic) == 0;
}

}  // namespace tutti::engine
