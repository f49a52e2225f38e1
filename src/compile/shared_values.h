// Which values inside two forms of one model mean the same, so that they can be compared layer by layer.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace tutti::compile {

struct SharedValue {
  std::string a, b;  // names; different where only the origins of the nodes tell
};

// In the order of `a`; nodes of the outermost graphs only. Patches hand the model's names on to what they replace, so
// equal names of nodes with an origin in common mean the same. Where a patch lost the name (a convolution that computes
// in another layout), a node is taken for the last of the model's nodes that it stands for: the two nodes must be the
// last ones of their graphs with any of their origins. Such a pair may still differ in layout.
std::vector<SharedValue> shared_values(const ir::Graph& a, const ir::Graph& b);

}  // namespace tutti::compile
