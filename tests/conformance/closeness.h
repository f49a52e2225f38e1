// Comparison with the suite's expected values, by the suite's own rule: |actual - expected| <= absolute + relative *
// |expected|, where `absolute` grows with the tensor's largest magnitude (expected values carry the rounding noise of
// whoever computed them).
#pragma once

#include "base/error.h"
#include "ir/tensor.h"

namespace tutti::conformance {

// Types and dims must be equal; integers, bool and strings exactly equal; 16-bit and smaller floats get wider bounds.
// The error says where and by how much the first difference is.
Status check_close(const ir::Datum& actual, const ir::Datum& expected);

}  // namespace tutti::conformance
