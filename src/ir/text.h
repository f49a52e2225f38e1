// The text form of a graph: prints and parses back to an identical graph (large constants by content hash when
// `inline_constants` is off).
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace tutti::ir {

struct TextOptions {
  bool inline_constants = true;  // else only type and hash
  int64_t inline_limit =
      64;  // elements; larger constants print as `dense<hash>`, which parses to seeded values in tests
  bool origins = false;
};
std::string print_graph(const Graph& graph, const TextOptions& options = {});

using OpLookup = std::function<const OpDef*(std::string_view name)>;
// Errors name line and column, what was found and what was expected.
Result<Graph> parse_graph(std::string_view text, const OpLookup& find_op);

}  // namespace tutti::ir
