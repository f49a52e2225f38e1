// A graph from its part of the manifest. Internal to load.
#pragma once

#include <memory>
#include <span>

#include "base/mapped_file.h"
#include "engine/engine_generated.h"
#include "ir/graph.h"

namespace tutti::engine {

// The mapped weights section; constants become views that keep the file.
struct WeightsView {
  std::span<const std::byte> bytes;
  std::shared_ptr<const MappedFile> file;
};

// `stored` has passed the FlatBuffers verifier. Checks every id, type, size and offset; types of nodes are not inferred
// yet.
Result<ir::Graph> read_graph(const fb::Graph& stored, const WeightsView& weights);

}  // namespace tutti::engine
