// A Plan as a FlatBuffers manifest. Internal to save.
#pragma once

#include <string>

#include "engine/plan.h"
#include "engine/weights_writer.h"

namespace tutti::engine {

// Adds every constant to `weights`; a second call with the same writer gives the same places. The result's size does
// not depend on `hashes`' values, only on the number of blocks.
std::string write_manifest(const Plan& plan, WeightsWriter& weights, const WeightHashes& hashes);

}  // namespace tutti::engine
