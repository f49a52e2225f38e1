// Reference results for a part of a heavy node's outputs: a slice of a matrix product's rows, of a convolution's output
// channels or of attention's queries.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "ir/tensor.h"

namespace tutti::compile {

// A smaller node of the same op whose output is a slice of the original's.
struct SampledNode {
  std::vector<ir::Datum> inputs;
  int64_t axis = 0;  // of the output
  int64_t begin = 0, end = 0;
};

// Floating point operations of a node at these inputs; 0 for ops that are not heavy at any size.
double estimate_flops(const ir::Node& node, std::span<const ir::Datum> inputs, const ir::Tensor& output);

// How to evaluate about `count` of the node's outputs only; nothing when the node has no such slice. `seed` moves the
// slice.
std::optional<SampledNode> sample_node(const ir::Node& node, std::span<const ir::Datum> inputs,
                                       const ir::Tensor& output, int64_t count, uint64_t seed);

// tensor[..., begin:end, ...] along `axis`, copied.
ir::Tensor slice_axis(const ir::Tensor& tensor, int64_t axis, int64_t begin, int64_t end);

}  // namespace tutti::compile
