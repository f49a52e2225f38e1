#include <cstdlib>
#include <cstring>

#include <tutti/tutti.h>

#include "capi/guard.h"
#include "ir/dtype.h"

// One block of memory, with the texts behind it, so that making one cannot fail half-way.
struct tutti_error {
  tutti_code code;
  const char* text;
  const char* hint;
};

namespace {

constexpr char kNoMemoryText[] = "out of memory";
constexpr char kNoMemoryHint[] = "give the process more memory, or the engine a smaller limit";
constinit tutti_error no_memory{TUTTI_ERROR_OUT_OF_MEMORY, kNoMemoryText, kNoMemoryHint};

bool is_code(tutti_code code) { return code > TUTTI_OK && code <= TUTTI_ERROR_INTERNAL; }

}  // namespace

tutti_error* tutti_error_create(tutti_code code, const char* text, const char* hint) {
  if (!text && code == TUTTI_ERROR_OUT_OF_MEMORY) return &no_memory;
  if (!text) text = "";
  if (!hint) hint = "";
  const size_t text_bytes = std::strlen(text) + 1, hint_bytes = std::strlen(hint) + 1;
  void* const memory = std::malloc(sizeof(tutti_error) + text_bytes + hint_bytes);
  if (!memory) return &no_memory;
  char* const texts = static_cast<char*>(memory) + sizeof(tutti_error);
  std::memcpy(texts, text, text_bytes);
  std::memcpy(texts + text_bytes, hint, hint_bytes);
  return new (memory) tutti_error{is_code(code) ? code : TUTTI_ERROR_INTERNAL, texts, texts + text_bytes};
}

void tutti_error_destroy(tutti_error* error) {
  if (error != &no_memory) std::free(error);
}

tutti_code tutti_error_code(const tutti_error* error) { return error ? error->code : TUTTI_OK; }
const char* tutti_error_text(const tutti_error* error) { return error ? error->text : ""; }
const char* tutti_error_hint(const tutti_error* error) { return error ? error->hint : ""; }

const char* tutti_code_name(tutti_code code) {
  if (code == TUTTI_OK) return "ok";
  return is_code(code) ? tutti::code_name(static_cast<tutti::Code>(code - 1)).data() : "unknown";
}

const char* tutti_dtype_name(tutti_dtype dtype) {
  if (dtype <= TUTTI_UNDEFINED || dtype >= tutti::ir::kDTypeCount) return "unknown";
  return tutti::ir::dtype_name(static_cast<tutti::ir::DType>(dtype)).data();
}

uint32_t tutti_api_version(void) { return TUTTI_API_VERSION; }
const char* tutti_version(void) { return TUTTI_VERSION; }

tutti_code tutti_check_api_version(uint32_t caller, tutti_error** error) {
  using namespace tutti;
  return capi::guarded("tutti_check_api_version", error, [&]() -> Status {
    const uint32_t own = TUTTI_API_VERSION;
    if (caller >> 16 == own >> 16 && caller <= own) return {};
    return make_error(Code::kVersion, "C interface: found a caller of version {}.{}, expected {}.0 to {}.{}",
                      caller >> 16, caller & 0xffff, own >> 16, own >> 16, own & 0xffff)
        .with_hint("compile the caller with this library's headers, or install the library that it was compiled for");
  });
}
