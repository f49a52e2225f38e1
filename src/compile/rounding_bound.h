// How far two correct summations of a matrix product or convolution may differ: by rounding of the terms, not of the
// result. Where large terms cancel, the result's own size says nothing.
#pragma once

#include <optional>
#include <span>

#include "ir/graph.h"
#include "ir/tensor.h"

namespace tutti::compile {

// The sums of the terms' magnitudes: the node evaluated on |inputs| without its activation. Nothing for ops that do not
// sum products.
Result<std::optional<ir::Tensor>> summed_magnitudes(const ir::Node& node, std::span<const ir::Datum> inputs);

// Whether each element of `actual` is within 4 * sqrt(depth) * 2^-24 of `reference`, in units of its magnitude sum: the
// probabilistic bound on a float sum of `depth` terms (Higham and Mary, "A new approach to probabilistic rounding error
// analysis", 2019), for both sides and an activation with slope at most 1.13.
bool within_rounding(const ir::Tensor& actual, const ir::Tensor& reference, const ir::Tensor& magnitudes, double depth);

}  // namespace tutti::compile
