#include "base/log.h"

#include <memory>

#include <spdlog/logger.h>
#include <spdlog/sinks/ansicolor_sink.h>

namespace tutti {
namespace {

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarning: return spdlog::level::warn;
    case LogLevel::kError: return spdlog::level::err;
    case LogLevel::kOff: return spdlog::level::off;
  }
  return spdlog::level::off;
}

std::unique_ptr<spdlog::logger> make_logger() {
  auto logger = std::make_unique<spdlog::logger>("tutti", std::make_shared<spdlog::sinks::ansicolor_stderr_sink_mt>());
  logger->set_level(spdlog::level::warn);
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %^%l%$ %v");
  return logger;
}

// Never destroyed, so that threads may log until the process ends.
spdlog::logger& logger() {
  static spdlog::logger& instance = *make_logger().release();
  return instance;
}

}  // namespace

void set_log_level(LogLevel level) { logger().set_level(spdlog_level(level)); }

bool log_enabled(LogLevel level) { return logger().should_log(spdlog_level(level)); }

void log_line(LogLevel level, std::string_view text) {
  logger().log(spdlog_level(level), spdlog::string_view_t(text.data(), text.size()));
}

}  // namespace tutti
