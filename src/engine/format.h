// The engine file: a Plan on disk. docs/engine_format.md describes the bytes.
#pragma once

#include <cstdint>
#include <string>

#include "engine/plan.h"

namespace tutti::engine {

inline constexpr uint32_t kFormatVersion = 1;

struct SaveOptions {
  std::string writer = "0.1.0";  // the version of Tutti that writes, at most 31 bytes
};

// Writes to a temporary file beside `path`, then renames it. Weights are streamed; equal ones are stored once. Equal
// plans give equal bytes. Fails with kIo or kNotFound.
Status save_engine(const Plan& plan, const std::string& path, const SaveOptions& options = {});

struct LoadOptions {
  bool verify_weights = false;  // also hash all weights: reads the whole file
};

// Maps the file; weights become views into it and are read when touched. The manifest's SHA-256, all bounds and the
// graph's structure are checked before anything is used. Fails with kInvalidInput (not an engine), kCorrupt (truncated,
// altered), kVersion, kNotFound, kIo.
Result<PlanPtr> load_engine(const std::string& path, const LoadOptions& options = {});

// The file begins as an engine file does; says nothing about the rest.
bool looks_like_engine(const std::string& path);

// Bytes of the graph's constants, bodies included; shared storage counts once.
uint64_t weights_bytes(const ir::Graph& graph);

}  // namespace tutti::engine
