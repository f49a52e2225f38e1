// Shape arithmetic: when the operands of a pointwise operator are known as dimensions, so is its result.
#pragma once

#include <functional>

#include "ir/op_def.h"

namespace tutti::ops {

// Sets output 0's dims_value to f(a, b) element by element where both inputs are known and f answers for every element.
void propagate_dims(ir::InferContext& ctx,
                    const std::function<std::optional<ir::Dim>(const ir::Dim& a, const ir::Dim& b)>& f);

// a / b rounded toward zero, where the signs are known to make that the floor.
std::optional<ir::Dim> divide_dims(const ir::Dim& a, const ir::Dim& b, const ir::SymbolRanges& ranges);
// -1, 0 or 1 for a < b, a == b, a > b whatever the symbols are; nothing when it depends.
std::optional<int> compare_dims(const ir::Dim& a, const ir::Dim& b, const ir::SymbolRanges& ranges);
// The same with only "equal" (0) and "never equal" (not 0) told apart.
std::optional<bool> equal_dims(const ir::Dim& a, const ir::Dim& b, const ir::SymbolRanges& ranges);

}  // namespace tutti::ops
