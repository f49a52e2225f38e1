// Attributes by field name, for code that is told the name at run time: the text form, expansions and passes that look
// at operators of other families.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "ir/attrs.h"
#include "ir/op_def.h"

namespace tutti::ir {

// A field's value. Choices are strings; an optional field is its value, and absent when it holds nothing.
using AttrValue = std::variant<int64_t, float, bool, std::string, DType, std::vector<int64_t>, std::vector<float>,
                               std::vector<std::string>>;
using AttrField = std::pair<std::string_view, AttrValue>;

// Nothing when there is no such field or it is optional and empty.
std::optional<AttrValue> get_attr(const Attrs& attrs, std::string_view name);
// Errors name the field when it does not exist, is of another type, or is a choice without that string.
Status set_attr(Attrs& attrs, std::string_view name, const AttrValue& value);
// The op's default attributes with these fields set.
Result<Attrs> make_attrs_of(const OpDef& op, std::initializer_list<AttrField> fields);

// Shorthands for fields that the caller knows; the fallback stands for a missing field.
int64_t attr_int(const Attrs& attrs, std::string_view name, int64_t fallback = 0);
float attr_float(const Attrs& attrs, std::string_view name, float fallback = 0);
bool attr_bool(const Attrs& attrs, std::string_view name, bool fallback = false);
std::string attr_string(const Attrs& attrs, std::string_view name, std::string_view fallback = {});
std::vector<int64_t> attr_ints(const Attrs& attrs, std::string_view name);

}  // namespace tutti::ir
