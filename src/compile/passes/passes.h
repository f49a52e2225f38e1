// The passes, one file each; what each needs and leaves stands on the first line of its file.
#pragma once

#include "compile/pass.h"

namespace tutti::compile {

Result<PassStats> run_canonicalize(ir::Graph& graph, PassContext& context);
Result<PassStats> run_cancel(ir::Graph& graph, PassContext& context);
Result<PassStats> run_fold_constants(ir::Graph& graph, PassContext& context);
Result<PassStats> run_shape_arithmetic(ir::Graph& graph, PassContext& context);
Result<PassStats> run_dead_code(ir::Graph& graph, PassContext& context);
Result<PassStats> run_common_subexpressions(ir::Graph& graph, PassContext& context);
Result<PassStats> run_decide_if(ir::Graph& graph, PassContext& context);
Result<PassStats> run_fuse_activation(ir::Graph& graph, PassContext& context);
Result<PassStats> run_fuse_layer_norm(ir::Graph& graph, PassContext& context);
Result<PassStats> run_fuse_attention(ir::Graph& graph, PassContext& context);
Result<PassStats> run_fold_batch_norm(ir::Graph& graph, PassContext& context);
Result<PassStats> run_conv_activation(ir::Graph& graph, PassContext& context);
Result<PassStats> run_channels_last(ir::Graph& graph, PassContext& context);
Result<PassStats> run_matmul_activation(ir::Graph& graph, PassContext& context);
Result<PassStats> run_pin_symbols(ir::Graph& graph, PassContext& context);
Result<PassStats> run_simplify_views(ir::Graph& graph, PassContext& context);
Result<PassStats> run_split_linear(ir::Graph& graph, PassContext& context);

}  // namespace tutti::compile
