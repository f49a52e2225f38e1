// NumPy's .npy files, versions 1 to 3 (format specification: numpy.lib.format), little endian.
#pragma once

#include <string>

#include "base/error.h"
#include "ir/tensor.h"

namespace tutti::transforms {

// Reads bool, [u]int8..64, float16/32/64, complex64/128 in C or Fortran order (converted to row-major). Anything else,
// a truncated file or a malformed header is an InvalidInput error that names the file and what was found.
Result<ir::Tensor> read_npy(const std::string& path);

// Writes version 1.0. Types that NumPy lacks are an Unsupported error.
Status write_npy(const std::string& path, const ir::Tensor& tensor);
bool npy_supports(ir::DType dtype);

}  // namespace tutti::transforms
