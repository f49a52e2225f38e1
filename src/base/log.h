// Log lines on standard error. The sink is the process's one global object.
#pragma once

#include <string_view>

#include <fmt/core.h>

namespace tutti {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };

// What is written from now on; kWarning until set. Thread-safe.
void set_log_level(LogLevel level);
bool log_enabled(LogLevel level);

// Writes one line, with time and level. Thread-safe. Use TUTTI_LOG.
void log_line(LogLevel level, std::string_view text);

}  // namespace tutti

// TUTTI_LOG(kWarning, "node {}: no kernel", name); arguments are evaluated only when the level is written. Not for the
// hot path.
#define TUTTI_LOG(level, ...)                                                  \
  do {                                                                         \
    if (::tutti::log_enabled(::tutti::LogLevel::level)) {                      \
      ::tutti::log_line(::tutti::LogLevel::level, ::fmt::format(__VA_ARGS__)); \
    }                                                                          \
  } while (false)
