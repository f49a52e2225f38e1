// What the opaque engine handle holds.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "runtime/engine.h"

namespace tutti::capi {

// An input or output in the form that C reads.
struct Port {
  runtime::PortInfo info;
  std::vector<int64_t> dims;         // -1: open
  std::vector<std::string> texts;    // of open dimensions
  std::vector<const char*> symbols;  // into `texts`, NULL for fixed ones
};

// Immutable. The handle and its contexts share it.
struct LoadedEngine {
  std::unique_ptr<backend::Backend> backend;  // outlives the engine
  runtime::EnginePtr engine;
  std::vector<Port> inputs, outputs;
  std::vector<std::pair<std::string, std::string>> metadata;
};

}  // namespace tutti::capi

struct tutti_engine {
  std::shared_ptr<const tutti::capi::LoadedEngine> loaded;
};
