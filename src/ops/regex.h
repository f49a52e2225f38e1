// A regular expression that is matched in time proportional to text times pattern, whatever they are: no backtracking.
//
// The syntax is RE2's without captures' effects: literals, '.', classes with ranges and \d \w \s, groups, '|', * + ?
// {m,n} (lazy forms too), ^ $ \A \z \b \B, and \xHH \n \t escapes. Anything else is refused when the pattern is
// compiled.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace tutti::ops {

// Immutable once compiled.
class Regex {
 public:
  static Result<Regex> compile(std::string_view pattern);
  // Whether the whole text matches.
  bool full_match(std::string_view text) const;

 private:
  friend class RegexCompiler;
  enum class Kind : uint8_t { kSet, kSplit, kJump, kBegin, kEnd, kBoundary, kNoBoundary, kAccept };
  using Ranges = std::vector<std::pair<char32_t, char32_t>>;
  struct Instruction {
    Kind kind;
    int32_t next = -1, other = -1;  // targets; `other` for splits
    int32_t set = -1;               // index into sets_
  };
  struct Set {
    Ranges ranges;
    bool negated = false;
    bool contains(char32_t c) const;
  };
  // The characters around a position; kNothing at the text's ends.
  struct Place {
    char32_t before, after;
  };
  static constexpr char32_t kNothing = 0xffffffff;
  bool holds(Kind assertion, Place place) const;
  void follow(int32_t start, Place place, std::vector<int32_t>& list, std::vector<bool>& seen) const;

  std::vector<Instruction> program_;
  std::vector<Set> sets_;
};

}  // namespace tutti::ops
