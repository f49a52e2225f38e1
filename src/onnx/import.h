// Reads ONNX models into graphs of the newest operator set.
//
// Older operator versions are converted while reading, model-local functions are inlined, and every type is inferred
// anew: what the file says about intermediate values is not trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "ir/graph.h"

namespace tutti::onnx {

// The newest ai.onnx operator set whose operators are known here.
inline constexpr int64_t kNewestOpset = 27;

struct ImportOptions {
  uint64_t max_model_bytes = uint64_t{1} << 31;     // of the protobuf file; external weights are not counted
  int max_nesting = 64;                             // bodies within bodies, functions within functions
  int64_t max_nodes = 10'000'000;                   // after inlining
  uint64_t max_expanded_bytes = uint64_t{1} << 30;  // of one sparse tensor made dense
  bool overridable_initializers = false;  // an initializer that is also an input stays an input (its value is dropped)
};

// A node that cannot be imported, and what might be done about it.
struct UnsupportedNode {
  std::string name, op, domain;
  int64_t version = 0;  // of the operator set that the model imports for the domain
  std::string reason, hint;
};

// What the import found; filled as far as it came, also when it failed.
struct ImportReport {
  std::vector<UnsupportedNode> unsupported;  // every one, not only the first
  std::vector<std::string> warnings;
  int64_t node_count = 0;  // nodes read, those of inlined functions and of bodies included
  std::string source_sha256;
  int64_t ir_version = 0;
  std::map<std::string, int64_t> opsets;  // "ai.onnx" -> 17
  std::string producer_name, producer_version;
};

// `report` may be null. Errors: kNotFound and kIo for files, kInvalidModel for broken models, kUnsupported with a
// summary of all nodes that cannot be imported, kLimit. External weights are memory-mapped and must lie in the model's
// folder.
Result<ir::Graph> import_model(const std::string& path, const ImportOptions& options = {},
                               ImportReport* report = nullptr);
// The same for a model in memory; an empty `base_dir` refuses external weights. The bytes are not needed afterwards.
Result<ir::Graph> import_model_bytes(std::span<const std::byte> bytes, const std::string& base_dir,
                                     const ImportOptions& options = {}, ImportReport* report = nullptr);

}  // namespace tutti::onnx
