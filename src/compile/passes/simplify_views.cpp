// simplify_views: runs of Reshape and Transpose -> the shortest run with the same result; views move below pointwise
// operators and products, where they meet. Needs: static targets. Leaves: few Transposes, no view between a product and
// its activation.
#include "compile/passes/passes.h"
#include "compile/passes/view_chain.h"
#include "ops/fused.h"

namespace tutti::compile {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

std::optional<ir::Patch> shorten(const Graph& graph, NodeId id) {
  const auto chain = view_chain(graph, id);
  if (!chain || chain->nodes == 0) return std::nullopt;
  const auto cost = chain_cost(graph, *chain);
  if (!cost || cost->transposes > chain->transposes) return std::nullopt;
  if (cost->transposes == chain->transposes && cost->nodes >= chain->nodes) return std::nullopt;
  ir::Patch patch(graph, "shorten");
  const auto value = emit_chain(patch, graph, *chain, chain->source);
  if (!value) return std::nullopt;
  patch.replace(graph.node(id).outputs[0], *value);
  return patch;
}

// The one input of `node` that is not a number, if the node works on each element alone.
std::optional<size_t> pointwise_operand(const Graph& graph, const Node& node) {
  if (node.inputs.size() == 1) return 0;
  for (size_t i = 0; i < 2; ++i) {
    const ir::Tensor* number = constant_of(graph, node.inputs[1 - i]);
    if (node.inputs.size() == 2 && number && number->size() == 1 && number->rank() == 0) return i;
  }
  return std::nullopt;
}

std::vector<const ir::OpDef*> pointwise_ops() {
  return ops_named({"Relu", "Gelu",  "Sigmoid", "Tanh", "HardSigmoid", "HardSwish", "LeakyRelu",
                    "Elu",  "Erf",   "Exp",     "Sqrt", "Abs",         "Neg",       "Softplus",
                    "Mish", "Swish", "Mul",     "Add",  "Sub",         "Div"});
}

// f(view(x)) -> view(f(x)).
std::optional<ir::Patch> sink_below_pointwise(const Graph& graph, NodeId id) {
  const Node& root = graph.node(id);
  const auto operand = pointwise_operand(graph, root);
  if (!operand || !is_compute_float(dtype_of(graph, root.outputs[0]))) return std::nullopt;
  const ValueId from = root.inputs[*operand];
  const Node* view = graph.producer(from);
  if (!view || !is_view(*view) || !graph.has_single_use(from)) return std::nullopt;
  ir::Patch patch(graph, "sink_below_pointwise");
  patch.absorbs(graph.value(from).producer);
  std::vector<ValueId> inputs = root.inputs;
  inputs[*operand] = view->inputs[0];
  std::vector<ValueId> view_inputs = view->inputs;
  view_inputs[0] = patch.node(*root.op, std::move(inputs), root.attrs);
  patch.replace(root.outputs[0], patch.node(*view->op, std::move(view_inputs), view->attrs));
  return patch;
}

bool ends_in_view(const Graph& graph, ValueId value) {
  if (!graph.has_single_use(value)) return false;
  const auto& uses = graph.value(value).uses;
  return !uses.empty() && is_view(graph.node(uses[0].node));
}

// How many leading axes of the source lie before the pieces of the result's last axis; nothing when those are not the
// source's last pieces, in order, or begin inside an axis.
std::optional<size_t> rows_before_last_axis(const ViewChain& chain) {
  if (chain.axes.empty() || chain.axes.back().empty()) return std::nullopt;
  const std::vector<int>& last = chain.axes.back();
  for (size_t i = 0; i < last.size(); ++i)
    if (last[last.size() - 1 - i] != static_cast<int>(chain.pieces.size() - 1 - i)) return std::nullopt;
  const ir::Dim depth = chain.shape().back();
  ir::Dim tail(1);
  for (size_t axis = chain.source_shape.size(); axis-- > 0;) {
    tail = tail * chain.source_shape[axis];
    if (tail == depth) return axis;
  }
  return std::nullopt;
}

// Linear(view(x)) -> view(Linear(x)) when the view leaves the last axis alone and another view follows.
std::optional<ir::Patch> sink_below_linear(const Graph& graph, NodeId id) {
  const Node& root = graph.node(id);
  const ValueId from = root.inputs[0];
  if (has_input(root, 3) || !graph.has_single_use(from) || !ends_in_view(graph, root.outputs[0])) return std::nullopt;
  const ir::Tensor* bias = constant_of(graph, input_of(root, 2));
  if (has_input(root, 2) && (!bias || bias->rank() != 1)) return std::nullopt;
  const ir::Dim columns = graph.value(root.outputs[0]).type.shape->back();
  if (columns.is(1)) return std::nullopt;
  const Node* view = graph.producer(from);
  auto chain = view && is_view(*view) ? view_chain(graph, graph.value(from).producer) : std::nullopt;
  const auto rows = chain ? rows_before_last_axis(*chain) : std::nullopt;
  if (!rows || *rows == 0) return std::nullopt;

  ir::Patch patch(graph, "sink_below_linear");
  ir::Shape shape(chain->source_shape.begin(), chain->source_shape.begin() + static_cast<std::ptrdiff_t>(*rows));
  // Rows that are only grouped otherwise are worth it where the view that follows groups them back.
  ir::Shape grouped_back = shape;
  grouped_back.push_back(columns);
  const Node& next = graph.node(graph.value(root.outputs[0]).uses[0].node);
  if (chain->transposes == 0 && graph.value(next.outputs[0]).type.shape != grouped_back) return std::nullopt;
  shape.push_back(chain->shape().back());
  ValueId x = chain->source;
  if (shape != chain->source_shape) {
    const auto numbers = reshape_numbers(graph, chain->source_shape, shape);
    if (!numbers) return std::nullopt;
    const ValueId target = patch.constant(ir::Tensor::from<int64_t>({static_cast<int64_t>(numbers->size())}, *numbers));
    x = patch.node(op_named("Reshape"), {x, target});
  }
  std::vector<ValueId> inputs = root.inputs;
  inputs[0] = x;
  const ValueId y = patch.node(*root.op, std::move(inputs), root.attrs);
  // The same change of axes over the rows, with the columns in one piece.
  const size_t depth_pieces = chain->axes.back().size();
  chain->pieces.resize(chain->pieces.size() - depth_pieces);
  chain->axes.back().assign({static_cast<int>(chain->pieces.size())});
  chain->pieces.push_back(columns);
  shape.back() = chain->pieces.back();
  chain->source_shape = std::move(shape);
  const auto value = emit_chain(patch, graph, *chain, y);
  if (!value) return std::nullopt;
  patch.replace(root.outputs[0], *value);
  return patch;
}

}  // namespace

Result<PassStats> run_simplify_views(ir::Graph& graph, PassContext& context) {
  const ir::Rule rules[] = {
      {"shorten", ops_named({"Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten"}), shorten},
      {"sink_below_pointwise", pointwise_ops(), sink_below_pointwise},
      {"sink_below_linear", {&ops::kLinear}, sink_below_linear},
  };
  return apply_rules(graph, rules, context);
}

}  // namespace tutti::compile
