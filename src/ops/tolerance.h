// How far a result may be from the reference: one table for all operators, tests and verification.
#pragma once

#include <string>

#include "ir/op_def.h"

namespace tutti::ops {

// An element passes when |actual - reference| <= absolute * scale + relative * |reference|, where scale is the largest
// finite magnitude of the reference tensor (at least 1e-30). Both zero: bit equality, with NaN equal to NaN and -0
// equal to 0.
struct Bounds {
  double absolute = 0, relative = 0;
};
Bounds bounds(ir::Tolerance tolerance, ir::DType dtype);

// What a comparison found. Errors are over finite pairs; a NaN or infinity on one side only is a failure with infinite
// error.
struct Comparison {
  bool pass = true;
  double max_absolute_error = 0, max_relative_error = 0;
  int64_t failures = 0;
  int64_t first_failure = -1;  // element index
  std::string text = "equal";  // one sentence for people
};

// Types and dims must be equal too. Integers, strings and bool are exact, but kApproximate lets integers differ by one.
Comparison compare_tensors(const ir::Tensor& actual, const ir::Tensor& reference, ir::Tolerance tolerance);
Comparison compare_tensors(const ir::Tensor& actual, const ir::Tensor& reference, const Bounds& limits);
// Sequences element by element.
Comparison compare_data(const ir::Datum& actual, const ir::Datum& reference, ir::Tolerance tolerance);

}  // namespace tutti::ops
