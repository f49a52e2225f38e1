// `tutti compare --all-layers`: the values inside both sides, paired by compile/shared_values.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compare_sides.h"
#include "ops/accuracy.h"

namespace tutti::app {

// A value that both sides make.
struct LayerRow {
  std::string value;                 // B's name of it
  std::string node, op, kernel;      // of A
  std::vector<std::string> origins;  // the model's nodes that A's node stands for
  ops::Difference difference;
};

struct LayerRequest {
  const Side& a;  // neither is a directory
  const Side& b;
  std::span<const ir::Datum> inputs_a, inputs_b;
  ops::Accuracy accuracy;
  uint64_t limit_bytes;  // of B's values, which are kept until A has run
};
// In the order in which A makes them; those inside bodies are left out. Runs B, then A.
Result<std::vector<LayerRow>> compare_layers(const LayerRequest& request);
// The first that does not pass, or null.
const LayerRow* first_over(std::span<const LayerRow> rows);

}  // namespace tutti::app
