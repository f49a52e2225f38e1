#include "base/mapped_file.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_handle.h"

namespace tutti {
namespace {

FileIdentity identity_of(const struct stat& info) {
  return {.device = static_cast<uint64_t>(info.st_dev),
          .inode = static_cast<uint64_t>(info.st_ino),
          .size_bytes = static_cast<uint64_t>(info.st_size),
          .modified_ns = int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec};
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
  const FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) return system_error("open " + path, errno);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return system_error("inspect " + path, errno);
  if (!S_ISREG(info.st_mode)) return make_error(Code::kIo, "cannot read {}: it is not a regular file", path);
  const FileIdentity identity = identity_of(info);
  if (identity.size_bytes == 0) return MappedFile(path, nullptr, identity);
  void* data = ::mmap(nullptr, identity.size_bytes, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED) return system_error(fmt::format("map {} ({} bytes)", path, identity.size_bytes), errno);
  return MappedFile(path, static_cast<const std::byte*>(data), identity);
}

MappedFile::~MappedFile() { unmap(); }

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      identity_(std::exchange(other.identity_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this != &other) {
    unmap();
    path_ = std::move(other.path_);
    data_ = std::exchange(other.data_, nullptr);
    identity_ = std::exchange(other.identity_, {});
  }
  return *this;
}

void MappedFile::unmap() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_bytes());
}

Result<std::span<const std::byte>> MappedFile::range(uint64_t offset, uint64_t length) const {
  if (offset > size_bytes() || length > size_bytes() - offset) {
    return make_error(Code::kCorrupt, "{}: bytes {} to {} + {} were asked for, the file has {}", path_, offset, offset,
                      length, size_bytes())
        .with_hint("the file is cut short or damaged: make or fetch it again");
  }
  return bytes().subspan(offset, length);
}

void MappedFile::drop_pages(uint64_t offset, uint64_t length) const {
  if (offset > size_bytes() || length > size_bytes() - offset) return;
  const uint64_t page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const uint64_t begin = (offset + page - 1) / page * page;
  // The file's last page ends with the file: it counts as whole.
  const uint64_t end = offset + length == size_bytes() ? size_bytes() : (offset + length) / page * page;
  if (begin < end) ::madvise(const_cast<std::byte*>(data_) + begin, end - begin, MADV_DONTNEED);
}

void MappedFile::will_need(uint64_t offset, uint64_t length) const {
  if (offset > size_bytes() || length > size_bytes() - offset || length == 0) return;
  const uint64_t page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const uint64_t begin = offset / page * page;
  ::madvise(const_cast<std::byte*>(data_) + begin, offset + length - begin, MADV_WILLNEED);
}

}  // namespace tutti
