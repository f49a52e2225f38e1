// The generated protobuf messages, under a short name. Nothing outside src/onnx (and its tests) includes this.
#pragma once

#include "onnx.pb.h"

namespace tutti::onnx {
namespace pb = ::onnx;
}  // namespace tutti::onnx
