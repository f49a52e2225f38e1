// MappedFile: a file's bytes as memory, read when touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/error.h"

namespace tutti {

// Which file it was, and in which state: equal identities mean the same unchanged bytes (as far as the file system
// tells).
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size_bytes = 0;
  int64_t modified_ns = 0;

  bool operator==(const FileIdentity&) const = default;
};

// A read-only mapping of a whole regular file; spans handed out live as long as this object. Immutable, but for moves.
// A file that someone shortens while it is mapped ends the process at the next touch (SIGBUS): replace files by
// renaming.
class MappedFile {
 public:
  // Fails with kNotFound, or with kIo (no permission, not a regular file).
  static Result<MappedFile> open(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  const std::string& path() const { return path_; }
  uint64_t size_bytes() const { return identity_.size_bytes; }
  const FileIdentity& identity() const { return identity_; }
  std::span<const std::byte> bytes() const { return {data_, static_cast<size_t>(size_bytes())}; }

  // Fails with kCorrupt when the range reaches past the end of the file.
  Result<std::span<const std::byte>> range(uint64_t offset, uint64_t length) const;

  // Gives the range's memory back to the system; the next touch reads the file again. Only whole pages inside the range
  // count; the rest, and a range past the end, is left alone.
  void drop_pages(uint64_t offset, uint64_t length) const;
  // Asks the system to read the range ahead.
  void will_need(uint64_t offset, uint64_t length) const;

 private:
  MappedFile(std::string path, const std::byte* data, FileIdentity identity)
      : path_(std::move(path)), data_(data), identity_(identity) {}
  void unmap();

  std::string path_;
  const std::byte* data_ = nullptr;
  FileIdentity identity_;
};

}  // namespace tutti
