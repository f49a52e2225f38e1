// What the program prints: results to standard output, everything else to standard error.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "command.h"

namespace tutti::app {

using Json = nlohmann::ordered_json;

// One line `error: ...` and a `hint: ...` line, or the JSON form on standard output. Returns the exit code.
int report_error(const Error& error, bool json);
// {"error": {"code", "message", "hint", "where"}}
Json error_document(const Error& error);
void print_json(const Json& document);

// Lines for a person; silent with --quiet or --json.
void say(const OutputOptions& output, const std::string& line);

std::string human_bytes(uint64_t bytes);    // "12.3 MB"
std::string human_ms(double milliseconds);  // "3.21 ms"
// "800M", "4G", "123456": bytes. Usage errors name what was found.
Result<uint64_t> parse_size(const std::string& text);

}  // namespace tutti::app
