// From an ONNX file to an engine file.
#pragma once

#include <string>
#include <vector>

#include "compile/compiler.h"
#include "compile/verify.h"
#include "ir/shape_hint.h"
#include "onnx/import.h"

namespace tutti::capi {

struct BuildRequest {
  std::string model, engine;  // paths
  std::vector<ir::ShapeHint> shapes;
  compile::VerifyLevel verify = compile::VerifyLevel::kFast;
  int threads = 1;
  size_t memory_limit_bytes = SIZE_MAX;
  std::string device = "auto";
};

// As far as the build came.
struct BuildFindings {
  onnx::ImportReport import;
  compile::CompileReport passes;
  compile::VerifyReport verification;
  int64_t nodes = 0;  // of the finished graph
  bool saved = false;
};

// Imports, optimises, verifies, saves, in this order; nothing is written before the verification has passed.
Status build_engine(const BuildRequest& request, BuildFindings& findings);

// Lines for a person.
std::string describe(const BuildRequest& request, const BuildFindings& findings);

}  // namespace tutti::capi
