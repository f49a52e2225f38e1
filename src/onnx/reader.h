// From bytes to protobuf messages.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/error.h"
#include "onnx/import.h"
#include "onnx/proto.h"

namespace tutti::onnx {

// Parses any message with protobuf's size limit lifted and its recursion limited. `what` names it in errors.
Status parse_message(std::span<const std::byte> bytes, int max_depth, const std::string& what,
                     google::protobuf::MessageLite& message);

// A model with a graph; kInvalidModel "not an ONNX file: ..." otherwise.
Result<std::unique_ptr<pb::ModelProto>> parse_model(std::span<const std::byte> bytes, const ImportOptions& options);

}  // namespace tutti::onnx
