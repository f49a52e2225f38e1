// Nothing but a code and an error object crosses the border.
#include "capi/guard.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace tutti::capi {
namespace {

struct Seen {
  tutti_code returned, code;
  std::string text, hint;
};

template <class Body>
Seen seen(const Body& body) {
  tutti_error* error = nullptr;
  const tutti_code returned = guarded("tutti_some_call", &error, body);
  Seen out{returned, tutti_error_code(error), tutti_error_text(error), tutti_error_hint(error)};
  tutti_error_destroy(error);
  return out;
}

TEST(Guard, reports_memory_that_ran_out) {
  const Seen out = seen([]() -> Status { throw std::bad_alloc(); });
  EXPECT_EQ(out.returned, TUTTI_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(out.code, TUTTI_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(out.text, "out of memory");
}

TEST(Guard, reports_exceptions_of_every_kind_as_bugs) {
  const Seen known = seen([]() -> Status { throw std::out_of_range("vector::at"); });
  EXPECT_EQ(known.code, TUTTI_ERROR_INTERNAL);
  EXPECT_EQ(known.text, "vector::at");
  EXPECT_NE(known.hint.find("a bug of Tutti"), std::string::npos);
  const Seen unknown = seen([]() -> Status { throw 7; });
  EXPECT_EQ(unknown.code, TUTTI_ERROR_INTERNAL);
  EXPECT_EQ(unknown.text, "an unknown exception");
}

TEST(Guard, gives_every_code_its_own_number_and_name) {
  for (int code = 0; code <= static_cast<int>(Code::kInternal); ++code) {
    const Seen out = seen([&]() -> Status { return Error(static_cast<Code>(code), "what", "way out"); });
    EXPECT_EQ(out.returned, code + 1);
    EXPECT_EQ(out.code, code + 1);
    EXPECT_EQ(tutti_code_name(out.code), code_name(static_cast<Code>(code)));
    EXPECT_EQ(out.text, code == 0 ? "tutti_some_call: what" : "what");
    EXPECT_EQ(out.hint, "way out");
  }
}

TEST(Guard, clears_the_error_of_an_earlier_call) {
  tutti_error* error = tutti_error_create(TUTTI_ERROR_IO, "old", "");
  tutti_error* const old = error;
  EXPECT_EQ(guarded("tutti_some_call", &error, [] { return ok_status(); }), TUTTI_OK);
  EXPECT_EQ(error, nullptr);
  tutti_error_destroy(old);
}

TEST(Guard, reads_structures_of_older_and_newer_callers) {
  struct Options {
    size_t struct_size;
    int64_t first, second;
  };
  const Options defaults{sizeof(Options), 10, 20};
  const Options older{offsetof(Options, second), 1, 2};  // knew only `first`
  auto read = read_struct(&older, defaults, "options");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->first, 1);
  EXPECT_EQ(read->second, 20);
  Options target{offsetof(Options, second), 0, -1};
  ASSERT_TRUE(write_struct(defaults, &target, "options").ok());
  EXPECT_EQ(target.first, 10);
  EXPECT_EQ(target.second, -1);  // was not the caller's to fill
  EXPECT_EQ(target.struct_size, offsetof(Options, second));
}

}  // namespace
}  // namespace tutti::capi
