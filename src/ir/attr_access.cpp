#include "ir/attr_access.h"

#include <algorithm>

namespace tutti::ir {
namespace {

// Copies out the field with one name.
class Reader final : public FieldVisitor {
 public:
  explicit Reader(std::string_view name) : name_(name) {}
  void field(std::string_view n, int64_t& v) override { take(n, v); }
  void field(std::string_view n, float& v) override { take(n, v); }
  void field(std::string_view n, bool& v) override { take(n, v); }
  void field(std::string_view n, std::string& v) override { take(n, v); }
  void field(std::string_view n, DType& v) override { take(n, v); }
  void field(std::string_view n, std::optional<int64_t>& v) override {
    if (v) take(n, *v);
  }
  void field(std::string_view n, std::optional<float>& v) override {
    if (v) take(n, *v);
  }
  void field(std::string_view n, std::vector<int64_t>& v) override { take(n, v); }
  void field(std::string_view n, std::vector<float>& v) override { take(n, v); }
  void field(std::string_view n, std::vector<std::string>& v) override { take(n, v); }
  void choice(std::string_view n, int& v, std::span<const std::string_view> names) override {
    take(n, std::string(names[static_cast<size_t>(v)]));
  }
  std::optional<AttrValue> found;

 private:
  template <class T>
  void take(std::string_view n, const T& v) {
    if (n == name_) found = AttrValue(v);
  }
  std::string_view name_;
};

// Sets the field with one name.
class Writer final : public FieldVisitor {
 public:
  Writer(std::string_view name, const AttrValue& value) : name_(name), value_(value) {}
  void field(std::string_view n, int64_t& v) override { put(n, v); }
  void field(std::string_view n, float& v) override { put(n, v); }
  void field(std::string_view n, bool& v) override {
    put(n, v);
    if (const auto* i = std::get_if<int64_t>(&value_); i && n == name_) v = *i != 0, done = true;
  }
  void field(std::string_view n, std::string& v) override { put(n, v); }
  void field(std::string_view n, DType& v) override { put(n, v); }
  void field(std::string_view n, std::optional<int64_t>& v) override { put_optional(n, v); }
  void field(std::string_view n, std::optional<float>& v) override { put_optional(n, v); }
  void field(std::string_view n, std::vector<int64_t>& v) override { put(n, v); }
  void field(std::string_view n, std::vector<float>& v) override { put(n, v); }
  void field(std::string_view n, std::vector<std::string>& v) override { put(n, v); }
  void choice(std::string_view n, int& v, std::span<const std::string_view> names) override {
    if (n != name_) return;
    seen = true;
    const auto* text = std::get_if<std::string>(&value_);
    if (!text) return;
    const auto at = std::find(names.begin(), names.end(), *text);
    if (at == names.end()) return;
    v = static_cast<int>(at - names.begin());
    done = true;
  }
  bool seen = false, done = false;

 private:
  template <class T>
  void put(std::string_view n, T& v) {
    if (n != name_) return;
    seen = true;
    if (const T* given = std::get_if<T>(&value_)) v = *given, done = true;
  }
  template <class T>
  void put_optional(std::string_view n, std::optional<T>& v) {
    if (n != name_) return;
    seen = true;
    if (const T* given = std::get_if<T>(&value_)) v = *given, done = true;
  }
  std::string_view name_;
  const AttrValue& value_;
};

template <class T>
T get_or(const Attrs& attrs, std::string_view name, T fallback) {
  const std::optional<AttrValue> value = get_attr(attrs, name);
  if (!value) return fallback;
  const T* typed = std::get_if<T>(&*value);
  return typed ? *typed : fallback;
}

}  // namespace

std::optional<AttrValue> get_attr(const Attrs& attrs, std::string_view name) {
  Reader reader(name);
  attrs.visit(reader);
  return std::move(reader.found);
}

Status set_attr(Attrs& attrs, std::string_view name, const AttrValue& value) {
  Writer writer(name, value);
  attrs.visit(writer);
  if (writer.done) return ok_status();
  if (writer.seen)
    return make_error(Code::kInvalidModel, "attribute '{}' does not take a value of this type or name", name);
  return make_error(Code::kInvalidModel, "there is no attribute '{}'", name);
}

Result<Attrs> make_attrs_of(const OpDef& op, std::initializer_list<AttrField> fields) {
  Attrs attrs = op.make_attrs ? Attrs(op.make_attrs()) : Attrs();
  for (const auto& [name, value] : fields) {
    Status set = set_attr(attrs, name, value);
    if (!set.ok()) return set.take_error().with_context(op.name);
  }
  return attrs;
}

int64_t attr_int(const Attrs& attrs, std::string_view name, int64_t fallback) {
  const std::optional<AttrValue> value = get_attr(attrs, name);
  if (!value) return fallback;
  if (const bool* flag = std::get_if<bool>(&*value)) return *flag ? 1 : 0;
  const int64_t* typed = std::get_if<int64_t>(&*value);
  return typed ? *typed : fallback;
}
float attr_float(const Attrs& attrs, std::string_view name, float fallback) { return get_or(attrs, name, fallback); }
bool attr_bool(const Attrs& attrs, std::string_view name, bool fallback) {
  return attr_int(attrs, name, fallback ? 1 : 0) != 0;
}
std::string attr_string(const Attrs& attrs, std::string_view name, std::string_view fallback) {
  return get_or(attrs, name, std::string(fallback));
}
std::vector<int64_t> attr_ints(const Attrs& attrs, std::string_view name) {
  return get_or(attrs, name, std::vector<int64_t>{});
}

}  // namespace tutti::ir
