#include "ops/fused.h"
#include "ops/fused_build.h"
#include "ops/pool.h"

namespace tutti::ops {
namespace {

// Transpose, the plain pooling, transpose back.
template <class A>
Result<ir::Graph> expand_pool(const ir::ExpandQuery& query, std::string_view plain) {
  const ir::ValueType& type = query.inputs[0];
  if (!type.has_rank() || type.rank() < 3)
    return make_error(Code::kInvalidModel, "input 0: found {}, expected rank 3 or more, channels last", type.text());
  ExpansionBuilder b(query);
  const ir::ValueId x = b.node("Transpose", {b.input(0)}, {{"perm", channels_first_permutation(type.rank())}});
  const ir::ValueId y = b.builder().node(plain == "MaxPool" ? kMaxPool : kAveragePool, {x}, query.attrs.as<A>());
  return std::move(b).finish(b.node("Transpose", {y}, {{"perm", channels_last_permutation(type.rank())}}));
}

Result<ir::Graph> expand_max_pool(const ir::ExpandQuery& query) { return expand_pool<MaxPoolAttrs>(query, "MaxPool"); }
Result<ir::Graph> expand_average_pool(const ir::ExpandQuery& query) {
  return expand_pool<AveragePoolAttrs>(query, "AveragePool");
}

}  // namespace

const ir::OpDef kMaxPoolNhwc{.name = "tutti.MaxPoolNhwc",
                             .min_inputs = 1,
                             .max_inputs = 1,
                             .make_attrs = ir::make_attrs<MaxPoolAttrs>,
                             .infer = infer_by_expansion,
                             .expand = expand_max_pool,
                             .tolerance = ir::Tolerance::kExact};
const ir::OpDef kAveragePoolNhwc{.name = "tutti.AveragePoolNhwc",
                                 .min_inputs = 1,
                                 .max_inputs = 1,
                                 .make_attrs = ir::make_attrs<AveragePoolAttrs>,
                                 .infer = infer_by_expansion,
                                 .expand = expand_average_pool,
                                 .tolerance = ir::Tolerance::kRounding};

}  // namespace tutti::ops
