// Type arithmetic shared by the operators that run bodies.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ir/op_def.h"

namespace tutti::ops {

// The most precise type that covers both. Dims that are not provably equal become fresh symbols of the outer graph.
Result<ir::ValueType> merge_types(ir::InferContext& context, const ir::ValueType& a, const ir::ValueType& b);

// Turns types of body values into types of the outer graph: a dim that mentions a symbol which no input of the node
// mentions belongs to the body and becomes a fresh symbol.
class BodyTypeExporter {
 public:
  explicit BodyTypeExporter(ir::InferContext& context);
  ir::ValueType operator()(ir::ValueType type);
  ir::Shape operator()(ir::Shape shape);

 private:
  ir::InferContext& context_;
  std::set<std::string> outer_symbols_;
};

// Types of values that a loop carries from one iteration to the next, widened until the body maps them to themselves.
// Each widening infers the body again, and with it the loops inside: only loops with few levels of loops below them
// start from the types they are given. Those with more start with open dims, the outermost of many without a rank, so
// that depth costs no more than a factor.
class CarriedTypes {
 public:
  CarriedTypes(ir::InferContext& context, std::vector<ir::ValueType> initial);
  const std::vector<ir::ValueType>& types() const { return types_; }
  // Takes what the body made of types(); true when something had to be widened, so that the body must be inferred
  // again.
  Result<bool> widen(std::span<const ir::ValueType> produced);
  // The type after any number of iterations, with fresh symbols for what varies.
  ir::ValueType result(size_t index);

 private:
  ir::InferContext& context_;
  std::vector<ir::ValueType> types_;
  std::vector<std::vector<bool>> varying_;  // by value, by dim
};

}  // namespace tutti::ops
