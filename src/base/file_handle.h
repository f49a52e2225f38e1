// FileHandle: an open file descriptor that closes itself, and the errors of system calls.
#pragma once

#include <string>
#include <utility>

#include "base/error.h"

namespace tutti {

// One thread at a time.
class FileHandle {
 public:
  FileHandle() = default;
  explicit FileHandle(int descriptor) : descriptor_(descriptor) {}
  ~FileHandle() { close(); }
  FileHandle(FileHandle&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileHandle& operator=(FileHandle&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }

  bool is_open() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }
  // Closes now; the result of the system's close, 0 when nothing was open.
  int close();

 private:
  int descriptor_ = -1;
};

// The error of a system call that has just failed with `error_number`: "cannot <what>: <reason>". kNotFound for a
// missing file, kIo otherwise.
Error system_error(const std::string& what, int error_number);

}  // namespace tutti
