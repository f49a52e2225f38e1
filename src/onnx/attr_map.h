// The attributes of one model node as a small dictionary that converters edit before it fills an operator's attribute
// struct.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "ir/attrs.h"
#include "onnx/proto.h"

namespace tutti::onnx {

// Protobuf pointers are into the model, which outlives the import.
using AttrValue =
    std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>, std::vector<std::string>,
                 pb::TensorProto*, pb::SparseTensorProto*, pb::TypeProto*, pb::GraphProto*>;

class AttrMap {
 public:
  AttrMap() = default;
  AttrMap(std::initializer_list<std::pair<std::string, AttrValue>> entries) : entries_(entries) {}

  // Reads a node's attributes. References to a function's attributes (ref_attr_name) are looked up in `bindings`; one
  // that is not bound is absent. Errors name the attribute.
  static Result<AttrMap> read(pb::NodeProto& node, const AttrMap* bindings);
  // Adds one attribute of the model.
  Status add(pb::AttributeProto& attribute);

  bool has(std::string_view name) const { return find(name) != nullptr; }
  const AttrValue* find(std::string_view name) const;
  // The value when it is there and of this kind.
  template <class T>
  std::optional<T> get(std::string_view name) const {
    const AttrValue* value = find(name);
    const T* held = value ? std::get_if<T>(value) : nullptr;
    return held ? std::optional(*held) : std::nullopt;
  }
  int64_t int_or(std::string_view name, int64_t fallback) const { return get<int64_t>(name).value_or(fallback); }
  void set(std::string_view name, AttrValue value);
  void erase(std::string_view name);
  void rename(std::string_view from, std::string_view to);
  template <class T>
  std::optional<T> take(std::string_view name) {
    std::optional<T> out = get<T>(name);
    if (out) erase(name);
    return out;
  }
  const std::vector<std::pair<std::string, AttrValue>>& entries() const { return entries_; }

  // Writes every entry into the field of its name; an entry without a field is kUnsupported, a wrong kind
  // kInvalidModel.
  Status fill(ir::Attrs& attrs) const;

 private:
  std::vector<std::pair<std::string, AttrValue>> entries_;  // a handful: searched from the front
};

}  // namespace tutti::onnx
