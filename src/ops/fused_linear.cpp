#include "ops/fused.h"
#include "ops/fused_build.h"

namespace tutti::ops {
namespace {

Result<ir::Graph> expand_linear(const ir::ExpandQuery& query) {
  const auto& a = query.attrs.as<LinearAttrs>();
  if (!query.inputs[1].has_rank() || query.inputs[1].rank() != 2)
    return make_error(Code::kInvalidModel, "tutti.Linear needs a weight of rank 2, found {}", query.inputs[1].text());
  ExpansionBuilder b(query);
  ir::ValueId w = b.input(1);
  if (a.transpose_weight) w = b.node("Transpose", {w}, {{"perm", std::vector<int64_t>{1, 0}}});
  ir::ValueId y = b.node("MatMul", {b.input(0), w});
  if (a.scale != 1) y = b.node("Mul", {y, b.scalar(query.inputs[0].dtype, a.scale)});
  if (b.input(2) != ir::kNoValue) y = b.node("Add", {y, b.input(2)});
  y = b.finish_fused(y, b.input(3), a);
  return std::move(b).finish(y);
}

}  // namespace

const ir::OpDef kLinear{
    .name = "tutti.Linear",
    .min_inputs = 2,
    .max_inputs = 4,
    .make_attrs = ir::make_attrs<LinearAttrs>,
    .infer = infer_by_expansion,
    .expand = expand_linear,
    .tolerance = ir::Tolerance::kApproximate,
};

}  // namespace tutti::ops
