#include "engine/attributes.h"

#include <string_view>

namespace tutti::engine {
namespace {

class Writer final : public ir::FieldVisitor {
 public:
  explicit Writer(flatbuffers::FlatBufferBuilder& builder) : builder_(builder) {}

  void field(std::string_view name, int64_t& value) override { ints(name, AttributeKind::kInt, {value}); }
  void field(std::string_view name, float& value) override { floats(name, AttributeKind::kFloat, {value}); }
  void field(std::string_view name, bool& value) override { ints(name, AttributeKind::kBool, {value ? 1 : 0}); }
  void field(std::string_view name, std::string& value) override { strings(name, AttributeKind::kString, {value}); }
  void field(std::string_view name, ir::DType& value) override {
    ints(name, AttributeKind::kDType, {static_cast<int64_t>(value)});
  }
  void field(std::string_view name, std::optional<int64_t>& value) override {
    ints(name, AttributeKind::kOptionalInt, value ? std::vector<int64_t>{*value} : std::vector<int64_t>{});
  }
  void field(std::string_view name, std::optional<float>& value) override {
    floats(name, AttributeKind::kOptionalFloat, value ? std::vector<float>{*value} : std::vector<float>{});
  }
  void field(std::string_view name, std::vector<int64_t>& value) override { ints(name, AttributeKind::kInts, value); }
  void field(std::string_view name, std::vector<float>& value) override { floats(name, AttributeKind::kFloats, value); }
  void field(std::string_view name, std::vector<std::string>& value) override {
    strings(name, AttributeKind::kStrings, value);
  }
  void choice(std::string_view name, int& value, std::span<const std::string_view> names) override {
    strings(name, AttributeKind::kChoice, {std::string(names[static_cast<size_t>(value)])});
  }

  std::vector<flatbuffers::Offset<fb::Attribute>> out;

 private:
  void ints(std::string_view name, AttributeKind kind, const std::vector<int64_t>& values) {
    const auto text = builder_.CreateString(name.data(), name.size());
    out.push_back(fb::CreateAttribute(builder_, text, static_cast<uint8_t>(kind), builder_.CreateVector(values)));
  }
  void floats(std::string_view name, AttributeKind kind, const std::vector<float>& values) {
    const auto text = builder_.CreateString(name.data(), name.size());
    out.push_back(fb::CreateAttribute(builder_, text, static_cast<uint8_t>(kind), 0, builder_.CreateVector(values)));
  }
  void strings(std::string_view name, AttributeKind kind, const std::vector<std::string>& values) {
    const auto text = builder_.CreateString(name.data(), name.size());
    out.push_back(
        fb::CreateAttribute(builder_, text, static_cast<uint8_t>(kind), 0, 0, builder_.CreateVectorOfStrings(values)));
  }

  flatbuffers::FlatBufferBuilder& builder_;
};

using Stored = flatbuffers::Vector<flatbuffers::Offset<fb::Attribute>>;

// Fields that the file does not name keep their defaults. The first problem is kept in `status`.
class Reader final : public ir::FieldVisitor {
 public:
  explicit Reader(const Stored* stored) : stored_(stored) {}

  void field(std::string_view name, int64_t& value) override {
    if (const auto* found = find(name, AttributeKind::kInt, 1)) value = found->ints()->Get(0);
  }
  void field(std::string_view name, float& value) override {
    if (const auto* found = find(name, AttributeKind::kFloat, 1)) value = found->floats()->Get(0);
  }
  void field(std::string_view name, bool& value) override {
    if (const auto* found = find(name, AttributeKind::kBool, 1)) value = found->ints()->Get(0) != 0;
  }
  void field(std::string_view name, std::string& value) override {
    if (const auto* found = find(name, AttributeKind::kString, 1)) value = found->strings()->Get(0)->str();
  }
  void field(std::string_view name, ir::DType& value) override {
    const auto* found = find(name, AttributeKind::kDType, 1);
    if (!found) return;
    const int64_t number = found->ints()->Get(0);
    if (number < 0 || number >= ir::kDTypeCount) return fail(name, fmt::format("found element type {}", number));
    value = static_cast<ir::DType>(number);
  }
  void field(std::string_view name, std::optional<int64_t>& value) override {
    const auto* found = find(name, AttributeKind::kOptionalInt, 0);
    if (found) value = found->ints()->size() > 0 ? std::optional(found->ints()->Get(0)) : std::nullopt;
  }
  void field(std::string_view name, std::optional<float>& value) override {
    const auto* found = find(name, AttributeKind::kOptionalFloat, 0);
    if (found) value = found->floats()->size() > 0 ? std::optional(found->floats()->Get(0)) : std::nullopt;
  }
  void field(std::string_view name, std::vector<int64_t>& value) override {
    if (const auto* found = find(name, AttributeKind::kInts, 0))
      value.assign(found->ints()->begin(), found->ints()->end());
  }
  void field(std::string_view name, std::vector<float>& value) override {
    if (const auto* found = find(name, AttributeKind::kFloats, 0))
      value.assign(found->floats()->begin(), found->floats()->end());
  }
  void field(std::string_view name, std::vector<std::string>& value) override {
    const auto* found = find(name, AttributeKind::kStrings, 0);
    if (!found) return;
    value.clear();
    for (const auto* text : *found->strings()) value.push_back(text->str());
  }
  void choice(std::string_view name, int& value, std::span<const std::string_view> names) override {
    const auto* found = find(name, AttributeKind::kChoice, 1);
    if (!found) return;
    const std::string_view text = found->strings()->Get(0)->string_view();
    for (size_t i = 0; i < names.size(); ++i)
      if (names[i] == text) {
        value = static_cast<int>(i);
        return;
      }
    fail(name, fmt::format("found '{}'", text));
  }

  size_t used() const { return used_; }
  Status status;

 private:
  // The attribute when it is there, of this kind, with at least `count` elements.
  const fb::Attribute* find(std::string_view name, AttributeKind kind, uint32_t count) {
    if (!stored_) return nullptr;
    for (const fb::Attribute* attribute : *stored_) {
      if (attribute->name()->string_view() != name) continue;
      ++used_;
      if (attribute->kind() == static_cast<uint8_t>(kind) &&
          element_count(*attribute, kind) >= static_cast<int64_t>(count))
        return attribute;
      fail(name, fmt::format("found kind {}, expected {}", attribute->kind(), static_cast<int>(kind)));
      return nullptr;
    }
    return nullptr;
  }

  static int64_t element_count(const fb::Attribute& attribute, AttributeKind kind) {
    switch (kind) {
      case AttributeKind::kFloat:
      case AttributeKind::kOptionalFloat:
      case AttributeKind::kFloats: return attribute.floats() ? attribute.floats()->size() : -1;
      case AttributeKind::kString:
      case AttributeKind::kStrings:
      case AttributeKind::kChoice: return attribute.strings() ? attribute.strings()->size() : -1;
      default: return attribute.ints() ? attribute.ints()->size() : -1;
    }
  }

  void fail(std::string_view name, std::string what) {
    if (status.ok()) status = make_error(Code::kCorrupt, "attribute '{}': {}", name, what);
  }

  const Stored* stored_;
  size_t used_ = 0;
};

}  // namespace

std::vector<flatbuffers::Offset<fb::Attribute>> write_attributes(flatbuffers::FlatBufferBuilder& builder,
                                                                 const ir::Attrs& attrs) {
  Writer writer(builder);
  attrs.visit(writer);
  return std::move(writer.out);
}

Result<ir::Attrs> read_attributes(const ir::OpDef& op, const Stored* stored) {
  const size_t count = stored ? stored->size() : 0;
  if (!op.make_attrs) {
    if (count > 0) return make_error(Code::kCorrupt, "operator {}: found {} attributes, expected none", op.name, count);
    return ir::Attrs();
  }
  ir::Attrs attrs(op.make_attrs());
  Reader reader(stored);
  attrs.visit(reader);
  TUTTI_TRY(std::move(reader.status));
  if (reader.used() != count)
    return make_error(Code::kCorrupt, "operator {}: found {} attributes, expected {} of them", op.name, count,
                      reader.used());
  return attrs;
}

}  // namespace tutti::engine
