// Compares what a caller gives with what the graph declares.
#pragma once

#include <span>
#include <vector>

#include "ir/tensor.h"
#include "runtime/engine.h"

namespace tutti::runtime {

// kInvalidInput naming the input, what was found, what was expected and the way out: number of inputs, kind, element
// type, rank, dims; one symbol must have one value over all inputs.
Status check_inputs(const std::vector<PortInfo>& declared, std::span<const ir::Datum> inputs);

}  // namespace tutti::runtime
