// Gives the memory of file-backed constants back to the system.
#pragma once

#include "ir/tensor.h"

namespace tutti::engine {

// Drops the whole pages inside a file-backed tensor; the next touch reads the file again. Nothing for tensors in
// ordinary memory.
void drop_pages(const ir::Tensor& tensor);

}  // namespace tutti::engine
