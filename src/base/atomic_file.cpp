#include "base/atomic_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tutti {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

Error write_error(const std::string& path, uint64_t bytes, uint64_t offset, int error_number) {
  Error error = system_error(fmt::format("write {} bytes at offset {} of {}", bytes, offset, path), error_number);
  if (error_number == ENOSPC || error_number == EDQUOT) {
    return std::move(error).with_hint(fmt::format("free space in {} or write elsewhere", folder_of(path)));
  }
  return error;
}

// Makes the rename itself durable. File systems that cannot sync a folder are as durable as they get.
void sync_folder(const std::string& path) {
  const FileHandle folder(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.is_open()) ::fsync(folder.get());
}

}  // namespace

Result<AtomicFile> AtomicFile::create(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    return make_error(Code::kIo, "cannot write {}: it exists and is not a regular file", path).with_hint("name a file");
  }
  constexpr int kAttempts = 1000;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    // Not mkstemp: the file gets the permissions that the process's umask gives to any new file.
    std::string temporary_path = fmt::format("{}.{}-{}.tmp", path, ::getpid(), attempt);
    FileHandle file(::open(temporary_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file.is_open()) return AtomicFile(path, std::move(temporary_path), std::move(file));
    if (errno != EEXIST) return system_error("create " + temporary_path, errno);
  }
  return make_error(Code::kIo, "cannot write {}: {} temporary files of that name exist", path, kAttempts)
      .with_hint(fmt::format("remove {}.*.tmp", path));
}

AtomicFile::~AtomicFile() {
  if (file_.is_open()) ::unlink(temporary_path_.c_str());
}

Status AtomicFile::write_at(uint64_t offset, std::span<const std::byte> bytes) {
  TUTTI_CHECK(file_.is_open(), "{} was written to after its commit", path_);
  const uint64_t wanted = bytes.size(), start = offset;
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return write_error(path_, wanted, start, errno);
    if (written == 0) return write_error(path_, wanted, start, EIO);
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset += static_cast<uint64_t>(written);
  }
  return ok_status();
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
  TUTTI_TRY(write_at(size_bytes_, bytes));
  size_bytes_ += bytes.size();
  return ok_status();
}

Status AtomicFile::write(std::string_view text) { return write(bytes_of(text)); }

Status AtomicFile::pad_to(uint64_t alignment) {
  static constexpr std::array<std::byte, 4096> kZeros{};
  uint64_t missing = (alignment - size_bytes_ % alignment) % alignment;
  while (missing > 0) {
    const uint64_t step = std::min<uint64_t>(missing, kZeros.size());
    TUTTI_TRY(write(std::span(kZeros).first(step)));
    missing -= step;
  }
  return ok_status();
}

Status AtomicFile::overwrite(uint64_t offset, std::span<const std::byte> bytes) {
  TUTTI_CHECK(offset <= size_bytes_ && bytes.size() <= size_bytes_ - offset, "{}: overwrite past the end", path_);
  return write_at(offset, bytes);
}

Status AtomicFile::commit() {
  TUTTI_CHECK(file_.is_open(), "{} was committed twice", path_);
  if (::fsync(file_.get()) != 0) return write_error(path_, size_bytes_, 0, errno);
  if (::rename(temporary_path_.c_str(), path_.c_str()) != 0) {
    return system_error(fmt::format("rename {} to {}", temporary_path_, path_), errno);
  }
  if (file_.close() != 0) return write_error(path_, size_bytes_, 0, errno);
  sync_folder(path_);
  return ok_status();
}

Status write_file(const std::string& path, std::span<const std::byte> bytes) {
  AtomicFile file = TUTTI_TRY(AtomicFile::create(path));
  TUTTI_TRY(file.write(bytes));
  return file.commit();
}

Status write_file(const std::string& path, std::string_view text) { return write_file(path, bytes_of(text)); }

}  // namespace tutti
