// Attributes are plain structs with one field list. From that list come printing, parsing, equality, hashing, copying,
// and filling from a model file; nothing else about an attribute is written twice.
//
//   struct SoftmaxAttrs : AttrsOf<SoftmaxAttrs> {
//     int64_t axis = -1;
//     void fields(FieldVisitor& v) { v.field("axis", axis); }
//   };
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/dtype.h"

namespace tutti::ir {

// Receives each field of an attribute struct, in order. A visitor may read or write them.
class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;
  virtual void field(std::string_view name, int64_t& value) = 0;
  virtual void field(std::string_view name, float& value) = 0;
  virtual void field(std::string_view name, bool& value) = 0;
  virtual void field(std::string_view name, std::string& value) = 0;
  virtual void field(std::string_view name, DType& value) = 0;
  virtual void field(std::string_view name, std::optional<int64_t>& value) = 0;
  virtual void field(std::string_view name, std::optional<float>& value) = 0;
  virtual void field(std::string_view name, std::vector<int64_t>& value) = 0;
  virtual void field(std::string_view name, std::vector<float>& value) = 0;
  virtual void field(std::string_view name, std::vector<std::string>& value) = 0;
  // An enumeration whose value is an index into `names`.
  virtual void choice(std::string_view name, int& value, std::span<const std::string_view> names) = 0;
  template <class E>
  void choice(std::string_view name, E& value, std::span<const std::string_view> names) {
    int index = static_cast<int>(value);
    choice(name, index, names);
    value = static_cast<E>(index);
  }
};

class AttrsBase {
 public:
  virtual ~AttrsBase() = default;
  virtual std::unique_ptr<AttrsBase> clone() const = 0;
  virtual void visit(FieldVisitor& visitor) = 0;
  virtual const void* type_tag() const = 0;  // one address per attribute struct
};

template <class Derived>
class AttrsOf : public AttrsBase {
 public:
  std::unique_ptr<AttrsBase> clone() const final {
    return std::make_unique<Derived>(static_cast<const Derived&>(*this));
  }
  void visit(FieldVisitor& visitor) final { static_cast<Derived&>(*this).fields(visitor); }
  const void* type_tag() const final { return tag(); }
  static const void* tag() {
    static constexpr char kTag = 0;
    return &kTag;
  }
};

// Owns the attributes of one node; a value type. Empty for ops without attributes.
class Attrs {
 public:
  Attrs() = default;
  template <class A>
    requires std::derived_from<A, AttrsBase>
  Attrs(A attrs) : held_(std::make_unique<A>(std::move(attrs))) {}  // NOLINT(google-explicit-constructor)
  explicit Attrs(std::unique_ptr<AttrsBase> held) : held_(std::move(held)) {}
  Attrs(const Attrs& other) : held_(other.held_ ? other.held_->clone() : nullptr) {}
  Attrs(Attrs&&) noexcept = default;
  Attrs& operator=(Attrs other) noexcept {
    held_ = std::move(other.held_);
    return *this;
  }

  bool empty() const { return held_ == nullptr; }
  // The struct; asking for another type than the op's is a bug.
  template <class A>
  const A& as() const {
    return *static_cast<const A*>(checked(A::tag()));
  }
  template <class A>
  A& as() {
    return *static_cast<A*>(checked(A::tag()));
  }
  void visit(FieldVisitor& visitor) const {
    if (held_) held_->visit(visitor);
  }

  // "{axis=-1, mode=linear}" with fields at their defaults left out when `defaults` is given; "" when there is nothing
  // to say.
  std::string text(const Attrs* defaults = nullptr) const;
  // A text that is equal exactly when all fields are equal (floats by bits).
  std::string key() const;
  friend bool operator==(const Attrs& a, const Attrs& b) { return a.key() == b.key(); }

 private:
  AttrsBase* checked(const void* tag) const;
  std::unique_ptr<AttrsBase> held_;
};

}  // namespace tutti::ir
