// Errors are values: Error carries a code, one sentence and a hint; Result<T> and Status carry either a value or an
// Error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/core.h>

namespace tutti {

// What kind of thing went wrong. `exit_code` maps each to the program's exit code.
enum class Code : uint8_t {
  kUsage,         // wrong call or command line
  kInvalidModel,  // the model file or graph is broken
  kInvalidInput,  // a tensor, shape or configuration given by the user does not fit
  kNotFound,      // a file or name that does not exist
  kUnsupported,   // valid, but Tutti cannot do it
  kCorrupt,       // an engine file fails its checks
  kVersion,       // an engine of another format version
  kIo,            // reading or writing failed (disk full, permissions)
  kVerification,  // results are out of tolerance
  kDevice,        // device or driver
  kOutOfMemory,   // an allocation failed
  kLimit,         // over a limit that the user or the machine set
  kInternal,      // a bug of ours
};

std::string_view code_name(Code code);
int exit_code(Code code);

// One error. Immutable once returned, except for context added on the way up.
class [[nodiscard]] Error {
 public:
  Error(Code code, std::string message, std::string hint = {})
      : code_(code), message_(std::move(message)), hint_(std::move(hint)) {}

  Code code() const { return code_; }
  const std::string& message() const { return message_; }
  const std::string& hint() const { return hint_; }
  // Outermost first, joined by ": ", e.g. "model.onnx: node 'conv1' (Conv)". Empty when none was added.
  const std::string& where() const { return where_; }

  Error&& with_context(std::string_view context) &&;
  Error&& with_hint(std::string hint) &&;
  // "where: message", without the hint.
  std::string text() const;

 private:
  Code code_;
  std::string message_, hint_, where_;
};

template <class... Args>
Error make_error(Code code, fmt::format_string<Args...> format, Args&&... args) {
  return Error(code, fmt::format(format, std::forward<Args>(args)...));
}

// A value or an Error. Reading the wrong side is a bug and ends the process.
template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const { return std::get<1>(state_); }
  Error take_error() { return std::get<1>(std::move(state_)); }
  Result&& with_context(std::string_view context) && {
    if (!ok()) state_.template emplace<1>(take_error().with_context(context));
    return std::move(*this);
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  void value() const {}
  const Error& error() const { return *error_; }
  Error take_error() { return *std::move(error_); }
  Result&& with_context(std::string_view context) && {
    if (!ok()) error_ = take_error().with_context(context);
    return std::move(*this);
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;
inline Status ok_status() { return {}; }

// Ends the process with exit code 70; for broken invariants of our own only.
[[noreturn]] void check_failed(const char* file, int line, const char* condition, const std::string& message);

}  // namespace tutti

// `auto x = TUTTI_TRY(call());` gives the value or returns the error to the caller (statement expression: gcc and
// clang).
#define TUTTI_TRY(expression)                                   \
  __extension__({                                               \
    auto tutti_result_ = (expression);                          \
    if (!tutti_result_.ok()) return tutti_result_.take_error(); \
    std::move(tutti_result_).value();                           \
  })

#define TUTTI_CHECK(condition, ...)                                                         \
  do {                                                                                      \
    if (!(condition)) [[unlikely]]                                                          \
      ::tutti::check_failed(__FILE__, __LINE__, #condition, ::fmt::format("" __VA_ARGS__)); \
  } while (false)

#ifdef NDEBUG
#define TUTTI_DCHECK(condition, ...) \
  do {                               \
  } while (false)
#else
#define TUTTI_DCHECK(condition, ...) TUTTI_CHECK(condition, __VA_ARGS__)
#endif
