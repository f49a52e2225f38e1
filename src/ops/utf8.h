// UTF-8 and simple case mapping.
#pragma once

#include <string>
#include <string_view>

namespace tutti::ops {

// Bytes that are not UTF-8 become U+FFFD, one each.
std::u32string decode_utf8(std::string_view text);
std::string encode_utf8(std::u32string_view text);

// One-to-one case mapping of Latin, Greek and Cyrillic letters; other characters stay.
char32_t to_lower(char32_t c);
char32_t to_upper(char32_t c);

}  // namespace tutti::ops
