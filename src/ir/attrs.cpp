#include "ir/attrs.h"

#include <bit>

#include <fmt/core.h>

#include "base/error.h"

namespace tutti::ir {
namespace {

template <class T, class F>
std::string joined(const std::vector<T>& values, F text) {
  std::string out = "[";
  for (size_t i = 0; i < values.size(); ++i) out += (i ? "," : "") + text(values[i]);
  return out + "]";
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += fmt::format("\\{}", c);
    else if (byte < 32 || byte > 126)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  return out + "\"";
}

// Shortest text that reads back to the same float; always with a point or exponent, to differ from an integer.
std::string float_text(float value) {
  std::string out = fmt::format("{}", value);
  if (out.find_first_of(".enai") == std::string::npos) out += ".0";
  return out;
}

// Collects "name", "text" pairs.
class TextVisitor final : public FieldVisitor {
 public:
  std::vector<std::pair<std::string, std::string>> fields;

  void field(std::string_view n, int64_t& v) override { add(n, std::to_string(v)); }
  void field(std::string_view n, float& v) override { add(n, float_text(v)); }
  void field(std::string_view n, bool& v) override { add(n, v ? "true" : "false"); }
  void field(std::string_view n, std::string& v) override { add(n, quoted(v)); }
  void field(std::string_view n, DType& v) override { add(n, std::string(dtype_name(v))); }
  void field(std::string_view n, std::optional<int64_t>& v) override { add(n, v ? std::to_string(*v) : "none"); }
  void field(std::string_view n, std::optional<float>& v) override { add(n, v ? float_text(*v) : "none"); }
  void field(std::string_view n, std::vector<int64_t>& v) override {
    add(n, joined(v, [](int64_t x) { return std::to_string(x); }));
  }
  void field(std::string_view n, std::vector<float>& v) override { add(n, joined(v, float_text)); }
  void field(std::string_view n, std::vector<std::string>& v) override { add(n, joined(v, quoted)); }
  void choice(std::string_view n, int& v, std::span<const std::string_view> names) override {
    add(n, std::string(names[static_cast<size_t>(v)]));
  }

 private:
  void add(std::string_view name, std::string text) { fields.emplace_back(name, std::move(text)); }
};

}  // namespace

std::string Attrs::text(const Attrs* defaults) const {
  TextVisitor mine, theirs;
  visit(mine);
  if (defaults) defaults->visit(theirs);
  std::string out;
  for (size_t i = 0; i < mine.fields.size(); ++i) {
    if (i < theirs.fields.size() && mine.fields[i] == theirs.fields[i]) continue;
    out += fmt::format("{}{}={}", out.empty() ? "" : ", ", mine.fields[i].first, mine.fields[i].second);
  }
  return out.empty() ? out : "{" + out + "}";
}

std::string Attrs::key() const { return text(); }

AttrsBase* Attrs::checked(const void* tag) const {
  TUTTI_CHECK(held_ && held_->type_tag() == tag, "attributes of another operator's type");
  return held_.get();
}

}  // namespace tutti::ir
