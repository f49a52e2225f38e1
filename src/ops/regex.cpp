#include "ops/regex.h"

#include <memory>
#include <optional>
#include <string>

#include "ops/utf8.h"

namespace tutti::ops {

namespace {

constexpr size_t kMaxProgram = 20000;  // instructions, after counted repetitions are written out
constexpr size_t kMaxAtoms = 200000;   // repetitions parse their atom again
constexpr int kMaxDepth = 200, kMaxCount = 1000;

Error syntax_error(std::string_view what) {
  return make_error(Code::kUnsupported, "the pattern has {}, which is not supported", what);
}

std::optional<std::vector<std::pair<char32_t, char32_t>>> class_ranges(char32_t letter) {
  switch (letter) {
    case U'd': return {{{U'0', U'9'}}};
    case U'w': return {{{U'0', U'9'}, {U'A', U'Z'}, {U'_', U'_'}, {U'a', U'z'}}};
    case U's': return {{{U'\t', U'\n'}, {U'\f', U'\r'}, {U' ', U' '}}};
    default: return std::nullopt;
  }
}

// The complement of sorted, disjoint ranges.
std::vector<std::pair<char32_t, char32_t>> complement(const std::vector<std::pair<char32_t, char32_t>>& ranges) {
  std::vector<std::pair<char32_t, char32_t>> out;
  char32_t from = 0;
  for (const auto& [first, last] : ranges) {
    if (first > from) out.emplace_back(from, first - 1);
    from = last + 1;
  }
  out.emplace_back(from, 0x10ffff);
  return out;
}

}  // namespace

// Recursive descent; emits instructions on the way. A piece is the instructions [start, end), entered at start and left
// at end.
class RegexCompiler {
 public:
  explicit RegexCompiler(std::u32string pattern) : text_(std::move(pattern)) {}

  Result<Regex> run() {
    TUTTI_TRY(alternatives(0));
    if (at_ < text_.size()) return syntax_error("an unmatched ')'");
    TUTTI_TRY(emit({Regex::Kind::kAccept}));
    return std::move(regex_);
  }

 private:
  using Kind = Regex::Kind;
  bool more() const { return at_ < text_.size(); }
  bool take(char32_t c) { return more() && text_[at_] == c ? (++at_, true) : false; }
  int32_t here() const { return static_cast<int32_t>(regex_.program_.size()); }

  Status emit(Regex::Instruction instruction) {
    if (regex_.program_.size() >= kMaxProgram)
      return make_error(Code::kLimit, "the pattern needs more than {} steps", kMaxProgram);
    if (instruction.next < 0) instruction.next = here() + 1;
    regex_.program_.push_back(instruction);
    return ok_status();
  }
  Status emit_set(Regex::Set set) {
    regex_.sets_.push_back(std::move(set));
    return emit({Kind::kSet, -1, -1, static_cast<int32_t>(regex_.sets_.size()) - 1});
  }
  // Makes room for one instruction at `start`; targets at or behind it move along.
  Status insert(int32_t start, Regex::Instruction instruction) {
    TUTTI_TRY(emit({Kind::kJump}));
    auto& program = regex_.program_;
    for (size_t i = program.size() - 1; i > static_cast<size_t>(start); --i) {
      program[i] = program[i - 1];
      ++program[i].next;
      if (program[i].other >= 0) ++program[i].other;
    }
    program[static_cast<size_t>(start)] = instruction;
    return ok_status();
  }

  Status alternatives(int depth) {
    if (depth > kMaxDepth) return make_error(Code::kLimit, "the pattern nests deeper than {}", kMaxDepth);
    const int32_t start = here();
    TUTTI_TRY(sequence(depth));
    if (!take(U'|')) return ok_status();
    TUTTI_TRY(insert(start, {Kind::kSplit, start + 1, here() + 2}));
    const int32_t jump = here();
    TUTTI_TRY(emit({Kind::kJump}));
    TUTTI_TRY(alternatives(depth + 1));
    regex_.program_[static_cast<size_t>(jump)].next = here();
    return ok_status();
  }

  Status sequence(int depth) {
    while (more() && text_[at_] != U'|' && text_[at_] != U')') {
      const int32_t start = here();
      const size_t from = at_;
      TUTTI_TRY(atom(depth));
      TUTTI_TRY(repetition(start, from, depth));
    }
    return ok_status();
  }

  Status repetition(int32_t start, size_t from, int depth) {
    const size_t to = at_;
    int low = 1, high = 1;
    if (take(U'*'))
      low = 0, high = -1;
    else if (take(U'+'))
      low = 1, high = -1;
    else if (take(U'?'))
      low = 0, high = 1;
    else if (!counted(low, high))
      return ok_status();
    if (low > kMaxCount || high > kMaxCount || (high >= 0 && high < low))
      return syntax_error("a repetition count that is out of range");
    take(U'?');  // lazy: the same set of texts
    if (more() && (text_[at_] == U'*' || text_[at_] == U'+' || text_[at_] == U'?'))
      return syntax_error("a repetition of a repetition");
    const size_t after = at_;
    const auto again = [&]() -> Status {
      at_ = from;
      const Status status = atom(depth);
      TUTTI_CHECK(!status.ok() || at_ == to);
      return status;
    };
    regex_.program_.resize(static_cast<size_t>(start));
    for (int i = 0; i < low; ++i) TUTTI_TRY(again());
    if (high < 0) {
      const int32_t loop = here();
      TUTTI_TRY(emit({Kind::kSplit}));
      TUTTI_TRY(again());
      TUTTI_TRY(emit({Kind::kJump, loop}));
      regex_.program_[static_cast<size_t>(loop)].other = here();
    }
    for (int i = low; i < high; ++i) {
      const int32_t skip = here();
      TUTTI_TRY(emit({Kind::kSplit}));
      TUTTI_TRY(again());
      regex_.program_[static_cast<size_t>(skip)].other = here();
    }
    at_ = after;
    return ok_status();
  }

  // "{m}", "{m,}", "{m,n}"; other braces are literals.
  bool counted(int& low, int& high) {
    const size_t from = at_;
    const auto number = [&](int& value) {
      const size_t begin = at_;
      value = 0;
      while (more() && text_[at_] >= U'0' && text_[at_] <= U'9' && value <= kMaxCount)
        value = value * 10 + static_cast<int>(text_[at_++] - U'0');
      return at_ > begin;
    };
    if (take(U'{') && number(low)) {
      high = low;
      if (take(U',') && !number(high)) high = -1;
      if (take(U'}')) return true;
    }
    at_ = from;
    return false;
  }

  Status atom(int depth) {
    if (++atoms_ > kMaxAtoms) return make_error(Code::kLimit, "the pattern repeats too much");
    const char32_t c = text_[at_++];
    switch (c) {
      case U'.': return emit_set({{{U'\n', U'\n'}}, true});
      case U'^': return emit({Kind::kBegin});
      case U'$': return emit({Kind::kEnd});
      case U'[': return bracket();
      case U'(': return group(depth);
      case U'*':
      case U'+':
      case U'?': return syntax_error("a repetition of nothing");
      case U'\\': return escape();
      default: return emit_set({{{c, c}}});
    }
  }

  Status group(int depth) {
    if (take(U'?')) {
      if (take(U'P') || (more() && text_[at_] == U'<')) {  // (?P<name>...) and (?<name>...)
        if (!take(U'<')) return syntax_error("a group of an unknown kind");
        if (more() && (text_[at_] == U'=' || text_[at_] == U'!')) return syntax_error("a look-behind");
        while (more() && text_[at_] != U'>') ++at_;
        if (!take(U'>')) return syntax_error("a group name without an end");
      } else if (!take(U':')) {
        return syntax_error("a group with flags or a look-ahead");
      }
    }
    TUTTI_TRY(alternatives(depth + 1));
    return take(U')') ? ok_status() : Status(syntax_error("a '(' without its ')'"));
  }

  Result<char32_t> escaped_character(char32_t c) {
    switch (c) {
      case U'n': return U'\n';
      case U't': return U'\t';
      case U'r': return U'\r';
      case U'f': return U'\f';
      case U'v': return U'\v';
      case U'a': return U'\a';
      case U'x': return hex();
      default: break;
    }
    const bool word = (c >= U'0' && c <= U'9') || (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z');
    if (word) return syntax_error("an unknown escape");
    return c;
  }

  Result<char32_t> hex() {
    char32_t value = 0;
    const bool braces = take(U'{');
    for (int digits = 0; braces ? more() && text_[at_] != U'}' : digits < 2; ++digits) {
      const char32_t c = more() ? to_lower(text_[at_++]) : U' ';
      if (!((c >= U'0' && c <= U'9') || (c >= U'a' && c <= U'f')) || digits > 5)
        return syntax_error("a \\x escape that is not a number");
      value = value * 16 + (c <= U'9' ? c - U'0' : c - U'a' + 10);
    }
    if (braces && !take(U'}')) return syntax_error("a \\x{ escape without its end");
    return value;
  }

  Status escape() {
    if (!more()) return syntax_error("a '\\' at its end");
    const char32_t c = text_[at_++];
    if (auto ranges = class_ranges(c)) return emit_set({*std::move(ranges)});
    if (auto ranges = class_ranges(to_lower(c)); ranges && c != to_lower(c))
      return emit_set({*std::move(ranges), true});
    if (c == U'A') return emit({Kind::kBegin});
    if (c == U'z') return emit({Kind::kEnd});
    if (c == U'b') return emit({Kind::kBoundary});
    if (c == U'B') return emit({Kind::kNoBoundary});
    const char32_t literal = TUTTI_TRY(escaped_character(c));
    return emit_set({{{literal, literal}}});
  }

  Status bracket() {
    Regex::Set set;
    set.negated = take(U'^');
    for (bool first = true; first || !take(U']'); first = false) {
      if (!more()) return syntax_error("a '[' without its ']'");
      const char32_t c = text_[at_++];
      if (c == U'[' && more() && text_[at_] == U':') return syntax_error("a named class");
      if (c == U'\\' && more()) {
        auto ranges = class_ranges(to_lower(text_[at_]));
        if (ranges) {
          const bool inverted = text_[at_] != to_lower(text_[at_]);
          for (const auto& range : inverted ? complement(*ranges) : *ranges) set.ranges.push_back(range);
          ++at_;
          continue;
        }
      }
      const char32_t low = c == U'\\' ? TUTTI_TRY(bracket_escape()) : c;
      char32_t high = low;
      if (at_ + 1 < text_.size() && text_[at_] == U'-' && text_[at_ + 1] != U']') {
        ++at_;
        high = text_[at_++];
        if (high == U'\\') high = TUTTI_TRY(bracket_escape());
      }
      if (high < low) return syntax_error("a range that ends before it begins");
      set.ranges.emplace_back(low, high);
    }
    return emit_set(std::move(set));
  }

  Result<char32_t> bracket_escape() {
    if (!more()) return syntax_error("a '\\' at its end");
    const char32_t c = text_[at_++];
    return escaped_character(c);
  }

  std::u32string text_;
  size_t at_ = 0, atoms_ = 0;
  Regex regex_;
};

Result<Regex> Regex::compile(std::string_view pattern) { return RegexCompiler(decode_utf8(pattern)).run(); }

bool Regex::Set::contains(char32_t c) const {
  for (const auto& [first, last] : ranges)
    if (c >= first && c <= last) return !negated;
  return negated;
}

bool Regex::holds(Kind assertion, Place place) const {
  const Set word{{{U'0', U'9'}, {U'A', U'Z'}, {U'_', U'_'}, {U'a', U'z'}}};
  const bool boundary = word.contains(place.before) != word.contains(place.after);
  switch (assertion) {
    case Kind::kBegin: return place.before == kNothing;
    case Kind::kEnd: return place.after == kNothing;
    case Kind::kBoundary: return boundary;
    default: return !boundary;
  }
}

// Adds every instruction that is reachable from `start` without reading a character.
void Regex::follow(int32_t start, Place place, std::vector<int32_t>& list, std::vector<bool>& seen) const {
  std::vector<int32_t> stack{start};
  while (!stack.empty()) {
    const int32_t at = stack.back();
    stack.pop_back();
    if (seen[static_cast<size_t>(at)]) continue;
    seen[static_cast<size_t>(at)] = true;
    const Instruction& instruction = program_[static_cast<size_t>(at)];
    switch (instruction.kind) {
      case Kind::kSplit: stack.push_back(instruction.other); [[fallthrough]];
      case Kind::kJump: stack.push_back(instruction.next); break;
      case Kind::kSet:
      case Kind::kAccept: list.push_back(at); break;
      default:
        if (holds(instruction.kind, place)) stack.push_back(instruction.next);
    }
  }
}

bool Regex::full_match(std::string_view utf8) const {
  const std::u32string text = decode_utf8(utf8);
  std::vector<int32_t> now, next;
  std::vector<bool> seen(program_.size(), false);
  const auto after = [&](size_t i) { return i < text.size() ? text[i] : kNothing; };
  follow(0, {kNothing, after(0)}, now, seen);
  for (size_t i = 0; i < text.size(); ++i) {
    next.clear();
    seen.assign(program_.size(), false);
    for (int32_t at : now) {
      const Instruction& instruction = program_[static_cast<size_t>(at)];
      if (instruction.kind == Kind::kSet && sets_[static_cast<size_t>(instruction.set)].contains(text[i]))
        follow(instruction.next, {text[i], after(i + 1)}, next, seen);
    }
    std::swap(now, next);
  }
  for (int32_t at : now)
    if (program_[static_cast<size_t>(at)].kind == Kind::kAccept) return true;
  return false;
}

}  // namespace tutti::ops
