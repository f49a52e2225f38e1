#include "ops/regex.h"

#include <gtest/gtest.h>

namespace tutti::ops {
namespace {

bool matches(std::string_view pattern, std::string_view text) {
  auto regex = Regex::compile(pattern);
  EXPECT_TRUE(regex.ok()) << pattern << ": " << (regex.ok() ? "" : regex.error().text());
  return regex.ok() && regex->full_match(text);
}

TEST(Regex, matches_the_whole_text_only) {
  EXPECT_TRUE(matches("a+b?", "aaab"));
  EXPECT_FALSE(matches("a+b?", "aaabx"));
  EXPECT_TRUE(matches("", ""));
}

TEST(Regex, tries_every_alternative) {
  EXPECT_TRUE(matches("(ab|a)(bc|c)", "abc"));
  EXPECT_TRUE(matches("x(a|b|cd)*y", "xacdby"));
  EXPECT_FALSE(matches("x(a|b|cd)*y", "xacby"));
}

TEST(Regex, counts_repetitions) {
  EXPECT_TRUE(matches("[0-9]{2,3}", "123"));
  EXPECT_FALSE(matches("[0-9]{2,3}", "1"));
  EXPECT_FALSE(matches("[0-9]{2,3}", "1234"));
  EXPECT_TRUE(matches("a{2,}", "aaaa"));
}

TEST(Regex, reads_classes_and_code_points) {
  EXPECT_TRUE(matches("[\\w.\\-]+@[^ ]+", "a.b-c@d.e"));
  EXPECT_TRUE(matches(".", "\xc3\xa9"));
  EXPECT_TRUE(matches("\\bcom\\b", "com"));
}

TEST(Regex, takes_linear_time_where_backtracking_explodes) { EXPECT_FALSE(matches("(a*)*b", std::string(5000, 'a'))); }

TEST(Regex, refuses_what_it_does_not_know) {
  for (const char* pattern : {"(a", "a)", "[a", "*a", "(?=a)", "\\q", "a{2,1}", "a\\"})
    EXPECT_FALSE(Regex::compile(pattern).ok()) << pattern;
}

TEST(Regex, refuses_repetitions_that_multiply_without_end) {
  EXPECT_FALSE(Regex::compile("((((a{900}){900}){900}){900}){900}").ok());
  EXPECT_FALSE(Regex::compile("(((((){900}){900}){900}){900}){900}").ok());
  EXPECT_FALSE(Regex::compile(std::string(100000, '(')).ok());
}

}  // namespace
}  // namespace tutti::ops
