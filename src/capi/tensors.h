// Between the tensors of C and those of the graph.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include <tutti/tutti.h>

#include "capi/engine.h"
#include "ir/tensor.h"

namespace tutti::capi {

// Borrows the data, copies strings. Errors say what is wrong with the description itself; whether it suits an input is
// not looked at.
Result<ir::Tensor> tensor_from_c(const tutti_tensor& tensor);

// The dims of each output as far as the inputs tell: none where they do not fit, or where the data decides.
std::vector<std::optional<ir::Dims>> known_output_dims(const LoadedEngine& loaded, std::span<const ir::Datum> inputs);

// kUsage unless `data` lies where elements of the type may lie.
Status check_alignment(const void* data, ir::DType dtype);

}  // namespace tutti::capi
