// Weights outside the model file.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/mapped_file.h"
#include "onnx/proto.h"

namespace tutti::onnx {

// A range of a mapped file.
struct ExternalBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const MappedFile> file;
};

// Maps each file once, however many tensors share it. Files must lie in the model's folder or below: absolute paths,
// ".." and symbolic links that lead out are refused. One thread at a time.
class ExternalData {
 public:
  explicit ExternalData(std::string base_dir) : base_dir_(std::move(base_dir)) {}
  // The bytes of an external tensor that needs `expected_bytes`. Errors name file, found and expected.
  Result<ExternalBytes> find(const pb::TensorProto& tensor, uint64_t expected_bytes);

 private:
  Result<std::shared_ptr<const MappedFile>> open(const std::string& location);

  std::string base_dir_;
  std::map<std::string, std::shared_ptr<const MappedFile>, std::less<>> files_;  // by location
};

}  // namespace tutti::onnx
