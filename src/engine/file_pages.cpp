#include "engine/file_pages.h"

#include <sys/mman.h>
#include <unistd.h>

namespace tutti::engine {

void drop_pages(const ir::Tensor& tensor) {
  if (!tensor.file_backed()) return;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(tensor.raw());
  const uintptr_t first = (begin + page - 1) / page * page, last = (begin + tensor.size_bytes()) / page * page;
  // Advice only: if it fails the pages just stay.
  if (first < last) (void)madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace tutti::engine
