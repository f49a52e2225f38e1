// Characters and words of the text form, with positions for errors.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace tutti::ir {

// Reads forward over a text that must outlive it. `#` starts a comment that ends with the line. One thread at a time.
class TextScanner {
 public:
  explicit TextScanner(std::string_view text) : text_(text) {}

  void skip_space();
  char peek();                                // the next character that is not space; 0 at the end
  bool take(std::string_view expected);       // takes it if it is next
  bool take_word(std::string_view expected);  // the same, for a whole word
  Status expect(std::string_view expected);
  std::string_view word();                    // letters, digits and _.$/:- ; may be empty
  Result<std::string> quoted();               // "..." with \" \\ and \xNN
  Result<std::string> value_name();           // after %: a word or a quoted string
  Result<std::string_view> bracketed_type();  // up to the end of a type: float32[n,2], seq<...>
  std::string_view scalar();                  // a number or word: up to , ] } ) or space
  Error error(std::string_view expected);     // "line 3, column 7: found '...', expected ..."

 private:
  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace tutti::ir
