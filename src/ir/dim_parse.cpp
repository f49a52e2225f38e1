#include <cctype>
#include <charconv>

#include "ir/shape.h"

namespace tutti::ir {
namespace {

// Recursive descent over: sum := term (('+'|'-') term)*, term := factor ('*' factor)*, factor := number | name | name
// '(' sum (',' sum)+ ')'.
class DimParser {
 public:
  explicit DimParser(std::string_view text) : text_(text) {}

  Result<Dim> parse_all() {
    Dim out = TUTTI_TRY(sum());
    if (at_ != text_.size()) return unexpected();
    return out;
  }

 private:
  Error unexpected() const {
    return make_error(Code::kInvalidInput, "dimension '{}': unexpected '{}' at {}, expected an expression like 2*n+1",
                      text_, at_ < text_.size() ? text_.substr(at_, 1) : "end", at_);
  }
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  Result<Dim> sum() {
    if (++depth_ > 64) return unexpected();
    const bool negative = take('-');
    Dim out = TUTTI_TRY(term());
    if (negative) out = Dim(0) - out;
    while (true) {
      if (take('+'))
        out = out + TUTTI_TRY(term());
      else if (take('-'))
        out = out - TUTTI_TRY(term());
      else
        break;
    }
    --depth_;
    return out;
  }
  Result<Dim> term() {
    Dim out = TUTTI_TRY(factor());
    while (take('*')) out = out * TUTTI_TRY(factor());
    return out;
  }
  Result<Dim> factor() {
    int64_t number = 0;
    const char* begin = text_.data() + at_;
    const char* end = text_.data() + text_.size();
    if (begin < end && (std::isdigit(static_cast<unsigned char>(*begin)) || *begin == '-')) {
      auto [stop, code] = std::from_chars(begin, end, number);
      if (code != std::errc()) return unexpected();
      at_ += static_cast<size_t>(stop - begin);
      return Dim(number);
    }
    const size_t start = at_;
    while (at_ < text_.size() && std::string_view("+-*(),[]").find(text_[at_]) == std::string_view::npos) ++at_;
    const std::string_view name = text_.substr(start, at_ - start);
    if (name.empty()) return unexpected();
    if (!take('(')) return Dim::symbol(name);
    return operation(name);
  }

  // After "name(".
  Result<Dim> operation(std::string_view name) {
    Dim out = TUTTI_TRY(sum());
    int count = 1;
    for (; take(','); ++count) {
      const Dim next = TUTTI_TRY(sum());
      if (name == "floordiv" && count == 1)
        out = Dim::floor_div(out, next);
      else if (name == "min")
        out = Dim::min(out, next);
      else if (name == "max")
        out = Dim::max(out, next);
      else
        return unexpected();
    }
    if (count == 1 || !take(')')) return unexpected();
    return out;
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<Dim> Dim::parse(std::string_view text) { return DimParser(text).parse_all(); }

}  // namespace tutti::ir
