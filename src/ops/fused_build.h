// Steps that the expansions of several fused operators share.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "ir/attr_access.h"
#include "ir/builder.h"
#include "ops/fused.h"

namespace tutti::ops {

// A builder that names plain operators by their ONNX names. The first error is kept until finish().
class ExpansionBuilder {
 public:
  // Adds one graph input per query input; absent ones become kNoValue.
  explicit ExpansionBuilder(const ir::ExpandQuery& query);
  ir::ValueId input(size_t i) const { return i < inputs_.size() ? inputs_[i] : ir::kNoValue; }
  ir::ValueId node(std::string_view op, std::vector<ir::ValueId> inputs,
                   std::initializer_list<ir::AttrField> attrs = {});
  // A scalar constant of the float type `dtype`.
  ir::ValueId scalar(ir::DType dtype, double value);
  ir::ValueId activate(ir::ValueId x, Activation activation, float alpha, float beta);
  // act(y + residual) or act(y) + residual.
  template <class A>
  ir::ValueId finish_fused(ir::ValueId y, ir::ValueId residual, const A& a) {
    if (residual != ir::kNoValue && a.residual_first) y = node("Add", {y, residual});
    y = activate(y, a.activation, a.alpha, a.beta);
    return residual != ir::kNoValue && !a.residual_first ? node("Add", {y, residual}) : y;
  }
  ir::GraphBuilder& builder() { return builder_; }
  Result<ir::Graph> finish(ir::ValueId output) &&;

 private:
  ir::DType dtype_of(ir::ValueId x) const { return builder_graph().value(x).type.dtype; }
  const ir::Graph& builder_graph() const { return const_cast<ExpansionBuilder*>(this)->builder_.graph(); }
  ir::GraphBuilder builder_;
  std::vector<ir::ValueId> inputs_;
  std::optional<Error> error_;
};

}  // namespace tutti::ops
