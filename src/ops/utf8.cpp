#include "ops/utf8.h"

#include <cstdint>

namespace tutti::ops {
namespace {

constexpr char32_t kReplacement = 0xfffd;

// Upper-case letters [first, last] whose lower-case forms lie `distance` above, or (distance 1) alternate with them.
struct CaseRange {
  char32_t first, last;
  int32_t distance;
};
constexpr CaseRange kRanges[] = {
    {U'A', U'Z', 32},   {0xc0, 0xd6, 32},   {0xd8, 0xde, 32},   {0x100, 0x12e, 1},
    {0x132, 0x136, 1},  {0x14a, 0x176, 1},  {0x391, 0x3a1, 32}, {0x3a3, 0x3ab, 32},
    {0x400, 0x40f, 80}, {0x410, 0x42f, 32}, {0x460, 0x480, 1},  {0x1e00, 0x1e94, 1},
};

int sequence_length(uint8_t lead) {
  return lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
}

}  // namespace

std::u32string decode_utf8(std::string_view text) {
  std::u32string out;
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<uint8_t>(text[i]);
    const int length = sequence_length(lead);
    char32_t c = length == 1 ? lead : lead & (0xffu >> (length + 1));
    bool valid = length > 0 && i + static_cast<size_t>(length) <= text.size();
    for (int k = 1; valid && k < length; ++k) {
      const auto next = static_cast<uint8_t>(text[i + static_cast<size_t>(k)]);
      valid = (next & 0xc0) == 0x80;
      c = (c << 6) | (next & 0x3f);
    }
    out.push_back(valid ? c : kReplacement);
    i += valid ? static_cast<size_t>(length) : 1;
  }
  return out;
}

std::string encode_utf8(std::u32string_view text) {
  std::string out;
  for (char32_t c : text) {
    const auto push = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
    if (c < 0x80)
      push(c);
    else if (c < 0x800)
      push(0xc0 | c >> 6), push(0x80 | (c & 0x3f));
    else if (c < 0x10000)
      push(0xe0 | c >> 12), push(0x80 | (c >> 6 & 0x3f)), push(0x80 | (c & 0x3f));
    else
      push(0xf0 | c >> 18), push(0x80 | (c >> 12 & 0x3f)), push(0x80 | (c >> 6 & 0x3f)), push(0x80 | (c & 0x3f));
  }
  return out;
}

char32_t to_lower(char32_t c) {
  for (const CaseRange& range : kRanges)
    if (c >= range.first && c <= range.last && (range.distance != 1 || (c - range.first) % 2 == 0))
      return c + static_cast<char32_t>(range.distance);
  return c;
}

char32_t to_upper(char32_t c) {
  for (const CaseRange& range : kRanges) {
    const char32_t upper = c - static_cast<char32_t>(range.distance);
    if (upper >= range.first && upper <= range.last && (range.distance != 1 || (upper - range.first) % 2 == 0))
      return upper;
  }
  return c;
}

}  // namespace tutti::ops
