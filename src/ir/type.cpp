#include "ir/type.h"

namespace tutti::ir {

std::string ValueType::text() const {
  std::string inner = fmt::format("{}{}", dtype_name(dtype), shape ? shape_text(*shape) : "[?]");
  if (kind == Kind::kSequence) inner = fmt::format("seq<{}>", inner);
  return is_optional ? fmt::format("opt<{}>", inner) : inner;
}

namespace {

Error bad_type(std::string_view text) {
  return make_error(Code::kInvalidInput, "type '{}': expected a form like float32[1,n,8], seq<int64[?]> or opt<...>",
                    text);
}

Result<Shape> parse_shape(std::string_view list) {
  Shape shape;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i <= list.size() && !list.empty(); ++i) {
    if (i < list.size() && list[i] == '(') ++depth;
    if (i < list.size() && list[i] == ')') --depth;
    if (i == list.size() || (list[i] == ',' && depth == 0)) {
      shape.push_back(TUTTI_TRY(Dim::parse(list.substr(start, i - start))));
      start = i + 1;
    }
  }
  return shape;
}

}  // namespace

Result<ValueType> ValueType::parse(std::string_view text) {
  const std::string_view whole = text;
  ValueType out;
  const auto unwrap = [&](std::string_view prefix) {
    if (!text.starts_with(prefix) || !text.ends_with('>')) return false;
    text = text.substr(prefix.size(), text.size() - prefix.size() - 1);
    return true;
  };
  out.is_optional = unwrap("opt<");
  if (unwrap("seq<")) out.kind = Kind::kSequence;
  const size_t bracket = text.find('[');
  if (bracket == std::string_view::npos || !text.ends_with(']')) return bad_type(whole);
  const auto dtype = parse_dtype(text.substr(0, bracket));
  if (!dtype) return bad_type(whole);
  out.dtype = *dtype;
  const std::string_view list = text.substr(bracket + 1, text.size() - bracket - 2);
  if (list != "?") out.shape = TUTTI_TRY(parse_shape(list));
  return out;
}

}  // namespace tutti::ir
