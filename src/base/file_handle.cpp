#include "base/file_handle.h"

#include <cerrno>
#include <system_error>

#include <unistd.h>

namespace tutti {

int FileHandle::close() {
  if (!is_open()) return 0;
  return ::close(std::exchange(descriptor_, -1));
}

Error system_error(const std::string& what, int error_number) {
  const Code code = error_number == ENOENT || error_number == ENOTDIR ? Code::kNotFound : Code::kIo;
  return make_error(code, "cannot {}: {}", what, std::generic_category().message(error_number));
}

}  // namespace tutti
