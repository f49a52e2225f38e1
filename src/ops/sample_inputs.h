// Inputs made up for verification, timing and `--random-inputs`: seeded, and within the range that the graph can take.
#pragma once

#include <random>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "ir/tensor.h"

namespace tutti::ops {

enum class SampleKind : uint8_t {
  kRandom,  // floats ~ N(0,1); integers uniform over the allowed range; booleans even
  kEdge,    // zeros, signs, small and large magnitudes, repeated rows; integers at both ends of the allowed range
};

// What integers an input may hold, inclusive; or the numbers that the graph compares it with, where it does (a sample
// rate, a mode).
struct IntegerRange {
  int64_t low = 0;
  int64_t high = 1;
  std::vector<int64_t> compared = {};
};

// Ranges by graph input. An input that selects rows of a tensor (token ids into an embedding) is bounded by the number
// of rows; others are 0 or 1, as masks are.
std::vector<IntegerRange> integer_input_ranges(const ir::Graph& graph);

ir::Tensor sample_tensor(ir::DType dtype, const ir::Dims& dims, const IntegerRange& range, SampleKind kind,
                         std::mt19937_64& random);

// One tensor per graph input, at these shapes. Sequence and optional inputs are Unsupported.
Result<std::vector<ir::Datum>> sample_inputs(const ir::Graph& graph, std::span<const ir::Dims> shapes, SampleKind kind,
                                             uint64_t seed);

}  // namespace tutti::ops
