#include "report.h"

#include <charconv>
#include <cstdio>

namespace tutti::app {
namespace {

// Names in models are arbitrary bytes; what is not UTF-8 is replaced, so that the document stays valid.
std::string dump(const Json& document) { return document.dump(2, ' ', false, Json::error_handler_t::replace); }

}  // namespace

Json error_document(const Error& error) {
  return {{"error",
           {{"code", code_name(error.code())},
            {"message", error.message()},
            {"hint", error.hint()},
            {"where", error.where()}}}};
}

namespace {

// Names in models on a terminal: control characters could move the cursor or hide text.
std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n') || byte == 0x7f)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  return out;
}

}  // namespace

int report_error(const Error& error, bool json) {
  if (json) {
    std::printf("%s\n", dump(error_document(error)).c_str());
  } else {
    std::fprintf(stderr, "error: %s\n", printable(error.text()).c_str());
    if (!error.hint().empty()) std::fprintf(stderr, "hint: %s\n", printable(error.hint()).c_str());
  }
  return exit_code(error.code());
}

void print_json(const Json& document) { std::printf("%s\n", dump(document).c_str()); }

void say(const OutputOptions& output, const std::string& line) {
  if (!output.quiet && !output.json) std::printf("%s\n", printable(line).c_str());
}

std::string human_bytes(uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes >= 1'000'000'000) return fmt::format("{:.2f} GB", value / 1e9);
  if (bytes >= 1'000'000) return fmt::format("{:.1f} MB", value / 1e6);
  if (bytes >= 1'000) return fmt::format("{:.1f} kB", value / 1e3);
  return fmt::format("{} B", bytes);
}

std::string human_ms(double ms) { return ms < 10 ? fmt::format("{:.3f} ms", ms) : fmt::format("{:.1f} ms", ms); }

Result<uint64_t> parse_size(const std::string& text) {
  uint64_t value = 0;
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view unit(stop, static_cast<size_t>(text.data() + text.size() - stop));
  if (unit.ends_with('B')) unit.remove_suffix(1);
  constexpr std::string_view kUnits = "KMGT";
  const size_t power = unit.empty() ? 0 : kUnits.find(unit[0]) + 1;
  const bool bad_unit = unit.size() > 1 || (!unit.empty() && power == 0);
  if (code != std::errc() || bad_unit || value > (UINT64_MAX >> (10 * power)))
    return Error(Code::kUsage, fmt::format("size: found '{}', expected a number with K, M, G or T", text),
                 "for example --memory-limit 800M");
  return value << (10 * power);
}

}  // namespace tutti::app
