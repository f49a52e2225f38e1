#include "ir/text_scanner.h"

#include <algorithm>
#include <cctype>

namespace tutti::ir {
namespace {

bool is_word_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$' || c == '/' || c == ':' ||
         c == '-';
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

void TextScanner::skip_space() {
  while (at_ < text_.size()) {
    if (text_[at_] == '#')
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    else if (std::isspace(static_cast<unsigned char>(text_[at_])))
      ++at_;
    else
      return;
  }
}

char TextScanner::peek() {
  skip_space();
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool TextScanner::take(std::string_view expected) {
  skip_space();
  if (!text_.substr(at_).starts_with(expected)) return false;
  at_ += expected.size();
  return true;
}

bool TextScanner::take_word(std::string_view expected) {
  skip_space();
  const size_t end = at_ + expected.size();
  if (!text_.substr(at_).starts_with(expected) || (end < text_.size() && is_word_char(text_[end]))) return false;
  at_ = end;
  return true;
}

Status TextScanner::expect(std::string_view expected) {
  if (take(expected)) return ok_status();
  return error(fmt::format("'{}'", expected));
}

std::string_view TextScanner::word() {
  skip_space();
  const size_t start = at_;
  while (at_ < text_.size() && is_word_char(text_[at_])) ++at_;
  // A name is followed by ": type"; its own colons stand inside.
  while (at_ > start && text_[at_ - 1] == ':') --at_;
  return text_.substr(start, at_ - start);
}

Result<std::string> TextScanner::quoted() {
  TUTTI_TRY(expect("\""));
  std::string out;
  while (at_ < text_.size() && text_[at_] != '"') {
    if (text_[at_] != '\\') {
      out += text_[at_++];
      continue;
    }
    const std::string_view rest = text_.substr(at_ + 1);
    if (rest.size() >= 3 && rest[0] == 'x' && hex_digit(rest[1]) >= 0 && hex_digit(rest[2]) >= 0) {
      out += static_cast<char>(hex_digit(rest[1]) * 16 + hex_digit(rest[2]));
      at_ += 4;
    } else if (!rest.empty() && (rest[0] == '"' || rest[0] == '\\')) {
      out += rest[0];
      at_ += 2;
    } else {
      return error("one of \\\" \\\\ \\xNN");
    }
  }
  TUTTI_TRY(expect("\""));
  return out;
}

Result<std::string> TextScanner::value_name() {
  TUTTI_TRY(expect("%"));
  if (at_ < text_.size() && text_[at_] == '"') return quoted();
  std::string name(word());
  if (name.empty()) return error("a value's name");
  return name;
}

Result<std::string_view> TextScanner::bracketed_type() {
  skip_space();
  const size_t start = at_;
  int depth = 0;
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (depth == 0 && (std::isspace(static_cast<unsigned char>(c)) || c == ',' || c == ')' || c == '=')) break;
    if (c == '[' || c == '(' || c == '<') ++depth;
    if (c == ']' || c == ')' || c == '>') --depth;
  }
  if (at_ == start) return error("a type");
  return text_.substr(start, at_ - start);
}

std::string_view TextScanner::scalar() {
  skip_space();
  const size_t start = at_;
  while (at_ < text_.size() && !std::isspace(static_cast<unsigned char>(text_[at_])) &&
         std::string_view(",]})").find(text_[at_]) == std::string_view::npos)
    ++at_;
  return text_.substr(start, at_ - start);
}

Error TextScanner::error(std::string_view expected) {
  skip_space();
  const std::string_view before = text_.substr(0, at_);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  std::string_view found = text_.substr(at_, std::min<size_t>(20, text_.size() - at_));
  found = found.substr(0, found.find('\n'));
  return make_error(Code::kInvalidInput, "line {}, column {}: found '{}', expected {}", line, at_ - line_start + 1,
                    at_ < text_.size() ? found : "the end", expected);
}

}  // namespace tutti::ir
