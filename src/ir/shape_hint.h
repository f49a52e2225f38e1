// Shape hints: what a user says about the sizes of a model's open dimensions, and the concrete input shapes that
// follow.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace tutti::ir {

// Sizes of one input; the three are equal when a single shape was given.
struct ShapeHint {
  std::string input;  // empty: the only input
  Dims min, typical, max;
};
enum class ShapePoint : uint8_t { kMin, kTypical, kMax };

// "NAME=1x3x224x224,OTHER=MIN:TYPICAL:MAX"; "1x3x8x8" alone for a model with one input; "NAME=" or "NAME=scalar" for
// rank 0.
Result<std::vector<ShapeHint>> parse_shape_hints(std::string_view text);

// One shape per graph input. Symbols that no hint fixes get a small or a usual size (a leading dimension 1, image sides
// 64 or 224, others 8 or 32); since a model may not accept those, later `attempt`s, below kShapeAttempts, give other
// sizes. Errors name the input, what the hint says and what the model declares.
inline constexpr int kShapeAttempts = 10;
Result<std::vector<Dims>> resolve_input_shapes(const Graph& graph, std::span<const ShapeHint> hints, ShapePoint point,
                                               int attempt = 0);

// Whether a tensor of `dims` may be given for the declared `type`; binds symbols and refuses contradictions with
// earlier bindings.
Status bind_shape(const std::string& input, const ValueType& type, const Dims& dims, SymbolValues& symbols);

}  // namespace tutti::ir
