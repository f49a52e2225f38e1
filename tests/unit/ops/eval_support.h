// Short forms for tests that evaluate one operator.
#pragma once

#include <utility>
#include <vector>

#include "ir/op_def.h"
#include "ops/interpreter.h"

namespace tutti::ops {

inline Result<std::vector<ir::Datum>> run_op(const ir::OpDef& op, std::vector<ir::Datum> inputs, ir::Attrs attrs = {},
                                             int outputs = 1) {
  if (attrs.empty() && op.make_attrs) attrs = ir::Attrs(op.make_attrs());
  return evaluate({.op = op, .attrs = attrs, .inputs = inputs, .output_count = outputs});
}

}  // namespace tutti::ops
