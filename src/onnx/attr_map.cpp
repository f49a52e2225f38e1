#include "onnx/attr_map.h"

#include <algorithm>

#include <fmt/format.h>

namespace tutti::onnx {
namespace {

using ir::DType;

constexpr std::string_view kKindNames[] = {"an integer", "a float",  "a string",        "integers", "floats",
                                           "strings",    "a tensor", "a sparse tensor", "a type",   "a graph"};

// Writes the entries of an AttrMap into the fields that carry their names.
class Filler : public ir::FieldVisitor {
 public:
  explicit Filler(const AttrMap& map) : map_(map), used_(map.entries().size()) {}

  void field(std::string_view name, int64_t& value) override { assign(name, value, "an integer"); }
  void field(std::string_view name, float& value) override {
    if (const auto whole = map_.get<int64_t>(name)) {
      mark(name);
      value = static_cast<float>(*whole);
      return;
    }
    assign(name, value, "a float");
  }
  void field(std::string_view name, bool& value) override {
    int64_t number = value;
    if (assign(name, number, "an integer")) value = number != 0;
  }
  void field(std::string_view name, std::string& value) override { assign(name, value, "a string"); }
  void field(std::string_view name, DType& value) override {
    int64_t number = static_cast<int64_t>(value);
    if (!assign(name, number, "an element type")) return;
    if (number < 0 || number >= ir::kDTypeCount)
      fail(make_error(Code::kInvalidModel, "attribute '{}': found element type {}, expected 0 to {}", name, number,
                      ir::kDTypeCount - 1));
    else
      value = static_cast<DType>(number);
  }
  void field(std::string_view name, std::optional<int64_t>& value) override {
    int64_t number = 0;
    if (assign(name, number, "an integer")) value = number;
  }
  void field(std::string_view name, std::optional<float>& value) override {
    if (!map_.has(name)) return;
    float number = 0;
    field(name, number);
    value = number;
  }
  void field(std::string_view name, std::vector<int64_t>& value) override { assign_list(name, value, "integers"); }
  void field(std::string_view name, std::vector<float>& value) override { assign_list(name, value, "floats"); }
  void field(std::string_view name, std::vector<std::string>& value) override { assign_list(name, value, "strings"); }
  void choice(std::string_view name, int& value, std::span<const std::string_view> names) override {
    const AttrValue* found = map_.find(name);
    if (!found) return;
    mark(name);
    if (const int64_t* index = std::get_if<int64_t>(found);
        index && *index >= 0 && *index < static_cast<int64_t>(names.size())) {
      value = static_cast<int>(*index);
      return;
    }
    const std::string* text = std::get_if<std::string>(found);
    const auto at = text ? std::find(names.begin(), names.end(), *text) : names.end();
    if (at != names.end())
      value = static_cast<int>(at - names.begin());
    else
      fail(make_error(Code::kUnsupported, "attribute '{}': found {}, expected one of {}", name,
                      text ? *text : "a number", fmt::join(names, ", ")));
  }

  Status finish() {
    if (error_) return *error_;
    for (size_t i = 0; i < used_.size(); ++i)
      if (!used_[i])
        return make_error(Code::kUnsupported, "attribute '{}' is not known for this operator", map_.entries()[i].first);
    return {};
  }

 private:
  void fail(Error error) {
    if (!error_) error_ = std::move(error);
  }
  void mark(std::string_view name) {
    for (size_t i = 0; i < used_.size(); ++i)
      if (map_.entries()[i].first == name) used_[i] = true;
  }
  template <class T>
  bool assign(std::string_view name, T& value, std::string_view expected) {
    const AttrValue* found = map_.find(name);
    if (!found) return false;
    mark(name);
    if (const T* held = std::get_if<T>(found)) {
      value = *held;
      return true;
    }
    fail(make_error(Code::kInvalidModel, "attribute '{}': found {}, expected {}", name, kKindNames[found->index()],
                    expected));
    return false;
  }
  // An empty list in the file has no kind of its own.
  template <class T>
  void assign_list(std::string_view name, std::vector<T>& value, std::string_view expected) {
    const auto ints = map_.get<std::vector<int64_t>>(name);
    if (ints && ints->empty()) {
      mark(name);
      value.clear();
      return;
    }
    assign(name, value, expected);
  }

  const AttrMap& map_;
  std::vector<bool> used_;
  std::optional<Error> error_;
};

// Files of the first ONNX versions leave the type out.
pb::AttributeProto::AttributeType kind_of(const pb::AttributeProto& a) {
  if (a.type() != pb::AttributeProto::UNDEFINED) return a.type();
  if (a.has_f()) return pb::AttributeProto::FLOAT;
  if (a.has_i()) return pb::AttributeProto::INT;
  if (a.has_s()) return pb::AttributeProto::STRING;
  if (a.has_t()) return pb::AttributeProto::TENSOR;
  if (a.has_g()) return pb::AttributeProto::GRAPH;
  if (a.floats_size() > 0) return pb::AttributeProto::FLOATS;
  if (a.strings_size() > 0) return pb::AttributeProto::STRINGS;
  return pb::AttributeProto::INTS;
}

}  // namespace

Status AttrMap::add(pb::AttributeProto& a) {
  switch (kind_of(a)) {
    case pb::AttributeProto::INT: set(a.name(), a.i()); return {};
    case pb::AttributeProto::FLOAT: set(a.name(), a.f()); return {};
    case pb::AttributeProto::STRING: set(a.name(), a.s()); return {};
    case pb::AttributeProto::INTS: set(a.name(), std::vector<int64_t>(a.ints().begin(), a.ints().end())); return {};
    case pb::AttributeProto::FLOATS: set(a.name(), std::vector<float>(a.floats().begin(), a.floats().end())); return {};
    case pb::AttributeProto::STRINGS:
      set(a.name(), std::vector<std::string>(a.strings().begin(), a.strings().end()));
      return {};
    case pb::AttributeProto::TENSOR: set(a.name(), a.mutable_t()); return {};
    case pb::AttributeProto::SPARSE_TENSOR: set(a.name(), a.mutable_sparse_tensor()); return {};
    case pb::AttributeProto::TYPE_PROTO: set(a.name(), a.mutable_tp()); return {};
    case pb::AttributeProto::GRAPH: set(a.name(), a.mutable_g()); return {};
    default: break;
  }
  return make_error(Code::kUnsupported,
                    "attribute '{}': found kind {}, expected a single value or a list of numbers or strings", a.name(),
                    static_cast<int>(a.type()));
}

Result<AttrMap> AttrMap::read(pb::NodeProto& node, const AttrMap* bindings) {
  AttrMap out;
  for (pb::AttributeProto& attribute : *node.mutable_attribute()) {
    if (out.has(attribute.name()))
      return make_error(Code::kInvalidModel, "attribute '{}': found twice, expected once", attribute.name());
    if (attribute.ref_attr_name().empty()) {
      TUTTI_TRY(out.add(attribute));
      continue;
    }
    if (!bindings)
      return make_error(Code::kInvalidModel, "attribute '{}': found a reference to '{}' outside a function",
                        attribute.name(), attribute.ref_attr_name());
    if (const AttrValue* bound = bindings->find(attribute.ref_attr_name())) out.set(attribute.name(), *bound);
  }
  return out;
}

const AttrValue* AttrMap::find(std::string_view name) const {
  for (const auto& [key, value] : entries_)
    if (key == name) return &value;
  return nullptr;
}

void AttrMap::set(std::string_view name, AttrValue value) {
  for (auto& [key, held] : entries_) {
    if (key != name) continue;
    held = std::move(value);
    return;
  }
  entries_.emplace_back(name, std::move(value));
}

void AttrMap::erase(std::string_view name) {
  std::erase_if(entries_, [&](const auto& entry) { return entry.first == name; });
}

void AttrMap::rename(std::string_view from, std::string_view to) {
  for (auto& [key, value] : entries_)
    if (key == from) key = to;
}

Status AttrMap::fill(ir::Attrs& attrs) const {
  Filler filler(*this);
  attrs.visit(filler);
  return filler.finish();
}

}  // namespace tutti::onnx
