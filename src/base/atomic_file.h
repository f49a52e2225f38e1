// AtomicFile: a file that appears under its name complete, or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/file_handle.h"

namespace tutti {

// Writes into a temporary file beside `path`; commit() syncs it and renames it over `path`. Without a commit, or after
// any failure, the old file stays as it was and the temporary one is removed. One thread at a time.
class AtomicFile {
 public:
  // Fails with kNotFound (no such folder) or kIo (no permission, or `path` exists and is not a regular file).
  static Result<AtomicFile> create(const std::string& path);
  ~AtomicFile();
  AtomicFile(AtomicFile&& other) noexcept = default;
  AtomicFile& operator=(AtomicFile&&) = delete;

  // Appends. Fails with kIo, naming the path and how many bytes were to be written (disk full, quota).
  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text);
  // Appends zeros until the size is a multiple of `alignment`.
  Status pad_to(uint64_t alignment);
  // Writes over bytes that were appended before.
  Status overwrite(uint64_t offset, std::span<const std::byte> bytes);
  uint64_t size_bytes() const { return size_bytes_; }

  // Once, after the last write.
  Status commit();

 private:
  AtomicFile(std::string path, std::string temporary_path, FileHandle file)
      : path_(std::move(path)), temporary_path_(std::move(temporary_path)), file_(std::move(file)) {}
  Status write_at(uint64_t offset, std::span<const std::byte> bytes);

  std::string path_;
  std::string temporary_path_;
  FileHandle file_;
  uint64_t size_bytes_ = 0;
};

// The whole of it in one call.
Status write_file(const std::string& path, std::span<const std::byte> bytes);
Status write_file(const std::string& path, std::string_view text);

}  // namespace tutti
