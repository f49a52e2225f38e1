// TensorProto to Tensor and back.
#pragma once

#include "ir/tensor.h"
#include "ir/type.h"
#include "onnx/external_data.h"
#include "onnx/proto.h"

namespace tutti::onnx {

struct TensorReadOptions {
  ExternalData* external = nullptr;  // null: external data is refused
  bool take_data = false;  // the proto's raw bytes become the tensor's storage (the proto is left without data)
  uint64_t max_expanded_bytes = uint64_t{1} << 30;
};

// Every data type in every field it may stand in. Errors name the tensor, what was found and what was expected.
Result<ir::Tensor> read_tensor(pb::TensorProto& proto, const TensorReadOptions& options);
// As a dense tensor.
Result<ir::Tensor> read_sparse_tensor(pb::SparseTensorProto& proto, const TensorReadOptions& options);
// Numbers as raw_data, strings as string_data.
void write_tensor(const ir::Tensor& tensor, pb::TensorProto& proto);

// A known element type, or an error that lists the number.
Result<ir::DType> read_dtype(int64_t data_type);

}  // namespace tutti::onnx
