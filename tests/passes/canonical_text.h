// The text of a graph with values named by their place: two graphs of equal meaning and form have equal texts.
#pragma once

#include <string>

#include "ir/graph.h"

namespace tutti::test {

std::string canonical_text(const ir::Graph& graph);

}  // namespace tutti::test
