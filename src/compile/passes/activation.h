// Which plain node is which activation of a fused operator.
#pragma once

#include <optional>

#include "compile/passes/match.h"
#include "ops/fused.h"

namespace tutti::compile {

struct ActivationChoice {
  ops::Activation kind = ops::Activation::kNone;
  float alpha = 0, beta = 0;
};

// The operators that activation_of knows.
std::vector<const ir::OpDef*> activation_ops();
// Nothing when the node is no activation of its first input, or has parameters that are not constant.
std::optional<ActivationChoice> activation_of(const ir::Graph& graph, const ir::Node& node);

// Adds an activation to a fused node's attributes: after the residual if there is one. Nothing if it has an activation
// already.
template <class A>
std::optional<A> with_activation(A attrs, bool has_residual, const ActivationChoice& choice) {
  if (attrs.activation != ops::Activation::kNone) return std::nullopt;
  attrs.activation = choice.kind;
  attrs.alpha = choice.alpha;
  attrs.beta = choice.beta;
  attrs.residual_first = has_residual;
  return attrs;
}

}  // namespace tutti::compile
