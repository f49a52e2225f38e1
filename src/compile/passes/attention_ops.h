// Attention operators in their simple forms become tutti.FusedAttention: no cache, no second output.
#pragma once

#include <optional>

#include "ir/rewrite.h"

namespace tutti::compile {

// The node as a fused one; nothing when it is not in a simple form, or a shape cannot be proven.
std::optional<ir::Patch> from_attention(const ir::Graph& graph, ir::NodeId id);
std::optional<ir::Patch> from_multi_head_attention(const ir::Graph& graph, ir::NodeId id);

}  // namespace tutti::compile
