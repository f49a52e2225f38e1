// The border of the C interface: failures and exceptions become a code and an error object, structures are read as far
// as the caller knows them.
#pragma once

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>

#include <tutti/tutti.h>

#include "base/error.h"

namespace tutti::capi {

constexpr tutti_code c_code(Code code) { return static_cast<tutti_code>(code) + 1; }
static_assert(c_code(Code::kUsage) == TUTTI_ERROR_USAGE && c_code(Code::kInvalidModel) == TUTTI_ERROR_INVALID_MODEL &&
              c_code(Code::kVersion) == TUTTI_ERROR_VERSION && c_code(Code::kInternal) == TUTTI_ERROR_INTERNAL);

inline tutti_code report(tutti_code code, const char* text, const char* hint, tutti_error** error) noexcept {
  if (error) *error = tutti_error_create(code, text, hint);
  return code;
}

// Runs the body of the function `name`, a callable that returns Status. Wrong calls are reported with the name.
template <class Body>
tutti_code guarded(const char* name, tutti_error** error, const Body& body) noexcept {
  if (error) *error = nullptr;
  try {
    Status status = body();
    if (status.ok()) return TUTTI_OK;
    const Error failure =
        status.error().code() == Code::kUsage ? status.take_error().with_context(name) : status.take_error();
    return report(c_code(failure.code()), failure.text().c_str(), failure.hint().c_str(), error);
  } catch (const std::bad_alloc&) {
    return report(TUTTI_ERROR_OUT_OF_MEMORY, nullptr, nullptr, error);
  } catch (const std::exception& exception) {
    return report(TUTTI_ERROR_INTERNAL, exception.what(), "this is a bug of Tutti: please report it", error);
  } catch (...) {
    return report(TUTTI_ERROR_INTERNAL, "an unknown exception", "this is a bug of Tutti: please report it", error);
  }
}

inline Status require(const void* pointer, const char* what) {
  return pointer ? ok_status() : Status(make_error(Code::kUsage, "{}: found NULL, expected a valid pointer", what));
}

inline Status require_index(size_t index, size_t count, const char* what) {
  if (index < count) return {};
  return make_error(Code::kUsage, "{}: found index {}, expected less than {}", what, index, count);
}

inline Status require_size(size_t struct_size, const char* what) {
  if (struct_size >= sizeof(size_t)) return {};
  return make_error(Code::kUsage, "{}: found struct_size {}, expected the structure's size", what, struct_size)
      .with_hint("begin with the structure's _INIT macro");
}

// 0 stands for every CPU; more than kMaxThreads is taken for a mistake.
inline constexpr int32_t kMaxThreads = 4096;
inline Status check_threads(int32_t threads) {
  if (threads >= 0 && threads <= kMaxThreads) return {};
  return make_error(Code::kUsage, "options.threads: found {}, expected 0 to {}", threads, kMaxThreads);
}

// What the caller gave over the defaults; a NULL gives these. Members that this library does not know must be zero.
template <class T>
Result<T> read_struct(const T* given, const T& defaults, const char* what) {
  T out = defaults;
  if (!given) return out;
  TUTTI_TRY(require_size(given->struct_size, what));
  std::memcpy(&out, given, std::min(given->struct_size, sizeof(T)));
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  for (size_t i = sizeof(T); i < given->struct_size; ++i)
    if (bytes[i] != 0)
      return make_error(Code::kVersion, "{}: found a member at byte {} that this library does not know", what, i)
          .with_hint("install a newer Tutti, or leave the member zero");
  out.struct_size = sizeof(T);
  return out;
}

// Fills in what the caller has room for.
template <class T>
Status write_struct(T value, T* target, const char* what) {
  TUTTI_TRY(require(target, what));
  TUTTI_TRY(require_size(target->struct_size, what));
  value.struct_size = target->struct_size;
  std::memcpy(target, &value, std::min(value.struct_size, sizeof(T)));
  return {};
}

}  // namespace tutti::capi
