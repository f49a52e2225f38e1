// Files that hold one tensor (or a sequence or an optional of tensors) as protobuf, as ONNX's test data does.
#pragma once

#include <string>

#include "base/error.h"
#include "ir/tensor.h"

namespace tutti::onnx {

// The file does not say which message it holds.
enum class ProtoKind : uint8_t { kTensor, kSequence, kOptional };

// An empty optional gives an empty Datum.
Result<ir::Datum> read_tensor_proto_file(const std::string& path, ProtoKind kind = ProtoKind::kTensor);
Status write_tensor_proto_file(const std::string& path, const ir::Tensor& tensor, const std::string& name = {});

}  // namespace tutti::onnx
