#include "base/error.h"

#include <cstdio>
#include <cstdlib>

namespace tutti {

std::string_view code_name(Code code) {
  switch (code) {
    case Code::kUsage: return "usage";
    case Code::kInvalidModel: return "invalid_model";
    case Code::kInvalidInput: return "invalid_input";
    case Code::kNotFound: return "not_found";
    case Code::kUnsupported: return "unsupported";
    case Code::kCorrupt: return "corrupt";
    case Code::kVersion: return "version";
    case Code::kIo: return "io";
    case Code::kVerification: return "verification";
    case Code::kDevice: return "device";
    case Code::kOutOfMemory: return "out_of_memory";
    case Code::kLimit: return "limit";
    case Code::kInternal: return "internal";
  }
  return "internal";
}

int exit_code(Code code) {
  switch (code) {
    case Code::kUsage: return 1;
    case Code::kVerification: return 3;
    case Code::kDevice: return 4;
    case Code::kOutOfMemory:
    case Code::kLimit: return 5;
    case Code::kInternal: return 70;
    default: return 2;
  }
}

Error&& Error::with_context(std::string_view context) && {
  where_ = where_.empty() ? std::string(context) : fmt::format("{}: {}", context, where_);
  return std::move(*this);
}

Error&& Error::with_hint(std::string hint) && {
  hint_ = std::move(hint);
  return std::move(*this);
}

std::string Error::text() const { return where_.empty() ? message_ : fmt::format("{}: {}", where_, message_); }

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  std::fprintf(stderr, "tutti: internal error at %s:%d: %s %s\n", file, line, condition, message.c_str());
  std::_Exit(70);
}

}  // namespace tutti
