// Operators on strings: StringConcat, StringSplit, StringNormalizer, RegexFullMatch, TfIdfVectorizer. Strings are
// UTF-8.
#pragma once

#include <array>
#include <string>

#include "ir/op_def.h"

namespace tutti::ops {

struct StringSplitAttrs : ir::AttrsOf<StringSplitAttrs> {
  std::string delimiter;  // empty: runs of white space
  std::optional<int64_t> maxsplit;
  void fields(ir::FieldVisitor& v) {
    v.field("delimiter", delimiter);
    v.field("maxsplit", maxsplit);
  }
};

enum class CaseChange : uint8_t { kNone, kLower, kUpper };
inline constexpr std::array<std::string_view, 3> kCaseChangeNames{"NONE", "LOWER", "UPPER"};

struct StringNormalizerAttrs : ir::AttrsOf<StringNormalizerAttrs> {
  CaseChange case_change_action = CaseChange::kNone;
  bool is_case_sensitive = false;
  std::string locale;  // case rules are the same in every locale here
  std::vector<std::string> stopwords;
  void fields(ir::FieldVisitor& v) {
    v.choice("case_change_action", case_change_action, kCaseChangeNames);
    v.field("is_case_sensitive", is_case_sensitive);
    v.field("locale", locale);
    v.field("stopwords", stopwords);
  }
};

struct RegexFullMatchAttrs : ir::AttrsOf<RegexFullMatchAttrs> {
  std::string pattern;
  void fields(ir::FieldVisitor& v) { v.field("pattern", pattern); }
};

enum class TfIdfMode : uint8_t { kTf, kIdf, kTfIdf };
inline constexpr std::array<std::string_view, 3> kTfIdfModeNames{"TF", "IDF", "TFIDF"};

struct TfIdfVectorizerAttrs : ir::AttrsOf<TfIdfVectorizerAttrs> {
  int64_t max_gram_length = 1, max_skip_count = 0, min_gram_length = 1;
  TfIdfMode mode = TfIdfMode::kTf;
  std::vector<int64_t> ngram_counts, ngram_indexes, pool_int64s;
  std::vector<std::string> pool_strings;
  std::vector<float> weights;
  void fields(ir::FieldVisitor& v) {
    v.field("max_gram_length", max_gram_length);
    v.field("max_skip_count", max_skip_count);
    v.field("min_gram_length", min_gram_length);
    v.choice("mode", mode, kTfIdfModeNames);
    v.field("ngram_counts", ngram_counts);
    v.field("ngram_indexes", ngram_indexes);
    v.field("pool_int64s", pool_int64s);
    v.field("pool_strings", pool_strings);
    v.field("weights", weights);
  }
};

extern const ir::OpDef kStringConcat, kStringSplit, kStringNormalizer, kRegexFullMatch, kTfIdfVectorizer;

}  // namespace tutti::ops
