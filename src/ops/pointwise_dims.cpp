#include "ops/pointwise_dims.h"

#include <algorithm>

namespace tutti::ops {

using ir::Dim;

void propagate_dims(ir::InferContext& ctx, const std::function<std::optional<Dim>(const Dim& a, const Dim& b)>& f) {
  if (ctx.dtype(0) != ir::DType::kInt64 && ctx.dtype(0) != ir::DType::kInt32 && ctx.dtype(0) != ir::DType::kBool)
    return;
  const auto a = ctx.dims_value(0), b = ctx.dims_value(1);
  if (!a || !b || (a->size() != b->size() && a->size() != 1 && b->size() != 1)) return;
  const size_t count = a->size() == 1 ? b->size() : a->size();
  std::vector<Dim> out;
  for (size_t i = 0; i < count; ++i) {
    auto one = f((*a)[a->size() == 1 ? 0 : i], (*b)[b->size() == 1 ? 0 : i]);
    if (!one) return;
    out.push_back(*std::move(one));
  }
  ctx.set_dims_value(0, std::move(out));
}

std::optional<Dim> divide_dims(const Dim& a, const Dim& b, const ir::SymbolRanges& ranges) {
  if (b.is(0)) return std::nullopt;
  if (a.is_constant() && b.is_constant()) {
    if (b.is(-1)) return Dim(0) - a;
    return Dim(*a.constant() / *b.constant());
  }
  if (a.range(ranges).min < 0 || b.range(ranges).min <= 0) return std::nullopt;
  return Dim::floor_div(a, b);
}

std::optional<int> compare_dims(const Dim& a, const Dim& b, const ir::SymbolRanges& ranges) {
  if (a == b) return 0;
  const ir::Range difference = (a - b).range(ranges);
  if (difference.min > 0) return 1;
  if (difference.max < 0) return -1;
  return std::nullopt;
}

std::optional<bool> equal_dims(const Dim& a, const Dim& b, const ir::SymbolRanges& ranges) {
  if (Dim::never_equal(a, b)) return false;
  const auto order = compare_dims(a, b, ranges);
  return order ? std::optional(*order == 0) : std::nullopt;
}

}  // namespace tutti::ops
