#include "compile/rounding_bound.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ir/attr_access.h"
#include "ir/op_def.h"
#include "ops/fused.h"
#include "ops/interpreter.h"

namespace tutti::compile {
namespace {

using ir::Datum;
using ir::Tensor;

bool sums_products(std::string_view op) {
  constexpr std::array<std::string_view, 7> kOps{"Conv",   "ConvTranspose",   "FusedMatMul", "Gemm",
                                                 "MatMul", "tutti.FusedConv", "tutti.Linear"};
  return std::find(kOps.begin(), kOps.end(), op) != kOps.end();
}

Tensor absolute(const Tensor& source) {
  Tensor out = Tensor::allocate(source.dtype(), source.dims());
  for (int64_t i = 0; i < source.size(); ++i) out.set_double(i, std::fabs(source.get_double(i)));
  return out;
}

// Factors made positive, activation taken out.
ir::Attrs absolute_attrs(const ir::Node& node) {
  ir::Attrs attrs = node.attrs;
  if (node.op == &ops::kFusedConv) attrs.as<ops::FusedConvAttrs>().activation = ops::Activation::kNone;
  if (node.op == &ops::kLinear) {
    auto& linear = attrs.as<ops::LinearAttrs>();
    linear.activation = ops::Activation::kNone;
    linear.scale = std::fabs(linear.scale);
  }
  for (const std::string_view factor : {"alpha", "beta"})
    if (const auto value = ir::get_attr(attrs, factor); value && std::holds_alternative<float>(*value))
      (void)ir::set_attr(attrs, factor,
                         std::fabs(std::get<float>(*value)));  // the field was just read: it exists and is a float
  return attrs;
}

}  // namespace

Result<std::optional<Tensor>> summed_magnitudes(const ir::Node& node, std::span<const Datum> inputs) {
  if (!sums_products(node.op->name)) return std::optional<Tensor>();
  std::vector<Datum> magnitudes;
  for (const Datum& in : inputs) magnitudes.push_back(in.is_tensor() ? Datum(absolute(in.tensor())) : Datum());
  const ir::Attrs attrs = absolute_attrs(node);
  auto outputs = TUTTI_TRY(ops::evaluate({.op = *node.op, .attrs = attrs, .inputs = magnitudes}));
  return std::optional<Tensor>(outputs[0].tensor());
}

bool within_rounding(const Tensor& actual, const Tensor& reference, const Tensor& magnitudes, double depth) {
  if (actual.dims() != reference.dims() || actual.dtype() != reference.dtype() || magnitudes.size() != reference.size())
    return false;
  const double unit = 4 * std::sqrt(std::max(depth, 1.0)) * std::ldexp(1.0, -24);
  for (int64_t i = 0; i < actual.size(); ++i) {
    const double a = actual.get_double(i), r = reference.get_double(i);
    if (a == r || (std::isnan(a) && std::isnan(r))) continue;
    if (!(std::fabs(a - r) <= unit * magnitudes.get_double(i))) return false;
  }
  return true;
}

}  // namespace tutti::compile
