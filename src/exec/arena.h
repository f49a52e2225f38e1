// The memory that programs compute in, and the limit that all contexts of an engine share.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string_view>

#include "base/error.h"

namespace tutti::exec {

// Counts bytes against a limit. Thread-safe.
class MemoryBudget {
 public:
  explicit MemoryBudget(size_t limit_bytes = SIZE_MAX) : limit_(limit_bytes) {}

  // kLimit, with the numbers, when `bytes` more do not fit. Counts nothing.
  Status check(size_t bytes, std::string_view what) const;
  // The same, and counts them until release().
  Status reserve(size_t bytes, std::string_view what);
  void release(size_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  size_t used_bytes() const { return used_.load(std::memory_order_relaxed); }
  size_t limit_bytes() const { return limit_; }

 private:
  const size_t limit_;
  std::atomic<size_t> used_{0};
};

// A buffer that grows when a program needs more and is kept for the next. One thread at a time.
class Arena {
 public:
  explicit Arena(MemoryBudget& budget) : budget_(budget) {}
  ~Arena() { budget_.release(size_); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // At least `bytes`; the content is lost when it grows. 64-byte aligned.
  Status grow(size_t bytes);
  std::byte* data() const { return memory_.get(); }
  size_t size_bytes() const { return size_; }
  bool contains(const void* pointer) const {
    const auto* byte = static_cast<const std::byte*>(pointer);
    return byte >= memory_.get() && byte < memory_.get() + size_;
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  MemoryBudget& budget_;
  std::unique_ptr<std::byte, Free> memory_;
  size_t size_ = 0;
};

}  // namespace tutti::exec
