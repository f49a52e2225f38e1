#include "exec/arena.h"

#include <cstdlib>

#include "exec/memory_plan.h"

namespace tutti::exec {
namespace {

Error over_limit(size_t bytes, size_t used, size_t limit, std::string_view what) {
  return make_error(Code::kLimit, "{} needs {} bytes: found {} bytes free, with {} of the limit of {} bytes in use",
                    what, bytes, limit > used ? limit - used : 0, used, limit)
      .with_hint("raise the memory limit (--memory-limit), or use smaller shapes or fewer contexts");
}

}  // namespace

Status MemoryBudget::check(size_t bytes, std::string_view what) const {
  const size_t used = used_bytes();
  if (bytes <= limit_ && used <= limit_ - bytes) return {};
  return over_limit(bytes, used, limit_, what);
}

Status MemoryBudget::reserve(size_t bytes, std::string_view what) {
  const size_t before = used_.fetch_add(bytes, std::memory_order_relaxed);
  if (bytes <= limit_ && before <= limit_ - bytes) return {};
  release(bytes);
  return over_limit(bytes, before, limit_, what);
}

void Arena::Free::operator()(std::byte* memory) const { std::free(memory); }

Status Arena::grow(size_t bytes) {
  if (bytes <= size_) return {};
  const size_t wanted = align_up(bytes, kBufferAlignment);
  TUTTI_TRY(budget_.reserve(wanted - size_, "the arena of intermediate results"));
  memory_.reset();  // first: both at once would not be within the budget
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kBufferAlignment, wanted)));
  if (!memory_) {
    budget_.release(wanted);
    size_ = 0;
    return make_error(Code::kOutOfMemory, "the arena of intermediate results: found no memory for {} bytes", wanted);
  }
  size_ = wanted;
  return {};
}

}  // namespace tutti::exec
