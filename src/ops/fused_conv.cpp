#include "ops/fused.h"
#include "ops/fused_build.h"

namespace tutti::ops {
namespace {

Result<ir::Graph> expand_fused_conv(const ir::ExpandQuery& query) {
  const auto& a = query.attrs.as<FusedConvAttrs>();
  const ir::ValueType& x_type = query.inputs[0];
  if (!x_type.has_rank() || x_type.rank() < 3)
    return make_error(Code::kInvalidModel, "tutti.FusedConv needs an input of rank 3 or more, found {}", x_type.text());
  ExpansionBuilder b(query);
  const bool nhwc = a.layout == ConvLayout::kNhwc;
  ir::ValueId x = b.input(0);
  if (nhwc) x = b.node("Transpose", {x}, {{"perm", channels_first_permutation(x_type.rank())}});
  std::vector<ir::ValueId> inputs{x, b.input(1)};
  if (b.input(2) != ir::kNoValue) inputs.push_back(b.input(2));
  ir::ValueId y = b.node("Conv", std::move(inputs),
                         {{"dilations", a.dilations}, {"group", a.group}, {"pads", a.pads}, {"strides", a.strides}});
  if (nhwc) y = b.node("Transpose", {y}, {{"perm", channels_last_permutation(x_type.rank())}});
  y = b.finish_fused(y, b.input(3), a);
  return std::move(b).finish(y);
}

}  // namespace

std::vector<int64_t> channels_first_permutation(int64_t rank) {
  std::vector<int64_t> perm{0, rank - 1};
  for (int64_t d = 1; d < rank - 1; ++d) perm.push_back(d);
  return perm;
}

std::vector<int64_t> channels_last_permutation(int64_t rank) {
  std::vector<int64_t> perm{0};
  for (int64_t d = 2; d < rank; ++d) perm.push_back(d);
  perm.push_back(1);
  return perm;
}

const ir::OpDef kFusedConv{
    .name = "tutti.FusedConv",
    .min_inputs = 2,
    .max_inputs = 4,
    .make_attrs = ir::make_attrs<FusedConvAttrs>,
    .infer = infer_by_expansion,
    .expand = expand_fused_conv,
    .tolerance = ir::Tolerance::kApproximate,
};

}  // namespace tutti::ops
