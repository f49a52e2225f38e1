#include "exec/resolve.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "ir/infer.h"
#include "ir/op_def.h"
#include "ops/interpreter.h"

namespace tutti::exec {
namespace {

constexpr int64_t kMaxFoldedInput = 4096;  // elements: shape arithmetic, not weights
constexpr int64_t kMaxFoldedOutput = 1024;
constexpr int64_t kMaxRequested = 64;

// Operators whose output shape depends on the content of large inputs: knowing small ones first would not help.
constexpr std::array<std::string_view, 4> kDataDependent{"NonZero", "NonMaxSuppression", "Unique", "Compress"};
// Operators whose first input is a size; elsewhere the first input is data.
constexpr std::array<std::string_view, 6> kSizeFirst{"Range",         "ConstantOfShape", "HannWindow",
                                                     "HammingWindow", "BlackmanWindow",  "MelWeightMatrix"};

template <size_t N>
bool contains(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class StageResolver {
 public:
  StageResolver(const ir::Graph& graph, std::span<const KnownValue> known) {
    out_.graph = graph.clone();
    out_.available.resize(static_cast<size_t>(graph.value_capacity()), false);
    for (ir::ValueId id = 0; id < graph.value_capacity(); ++id)
      if (graph.value(id).alive && graph.value(id).is_constant()) mark(id);
    for (const KnownValue& value : known) {
      ir::Value& target = out_.graph.value(value.value);
      target.type = value.type;
      target.dims_value.reset();
      target.constant = value.data;
      mark(value.value);
    }
  }

  Result<Resolved> run(std::span<const ir::NodeId> nodes) && {
    for (const ir::NodeId id : nodes) TUTTI_TRY(place(id));
    return std::move(out_);
  }

 private:
  void mark(ir::ValueId id) { out_.available[static_cast<size_t>(id)] = true; }

  Status place(ir::NodeId id) {
    const ir::Node& node = out_.graph.node(id);
    for (const ir::ValueId in : node.inputs)
      if (in != ir::kNoValue && !out_.available[static_cast<size_t>(in)]) {
        out_.remaining.push_back(id);
        return {};
      }
    // A branch that is not taken may be impossible at these shapes; the taken one reports its own errors when it runs.
    const bool may_fail = node.op->has(ir::kControl);
    for (const ir::ValueId value : node.outputs)
      if (value != ir::kNoValue && !may_fail) out_.graph.value(value).type = {};
    if (Status inferred = ir::infer_node(out_.graph, id); !inferred.ok()) {
      if (!may_fail) return inferred;
      out_.host.push_back(id);
      return {};
    }
    if (!TUTTI_TRY(all_resolved(node))) {
      if (!request_inputs(node))
        out_.host.push_back(id);
      else
        out_.remaining.push_back(id);
      return {};
    }
    for (const ir::ValueId value : node.outputs)
      if (value != ir::kNoValue) mark(value);
    (fold(node) ? out_.folded : out_.steps).push_back(id);
    return {};
  }

  // Sequences and optionals carry their shapes with them; of tensors the dims must be known.
  Result<bool> all_resolved(const ir::Node& node) const {
    for (const ir::ValueId id : node.outputs) {
      if (id == ir::kNoValue) continue;
      const ir::ValueType& type = out_.graph.value(id).type;
      if (!type.is_tensor()) continue;
      const std::optional<ir::Dims> dims = type.static_dims();
      if (!dims) return false;
      TUTTI_TRY(ir::checked_element_count(*dims).with_context(ir::describe_node(out_.graph, node_id(node))));
    }
    return true;
  }

  ir::NodeId node_id(const ir::Node& node) const { return static_cast<ir::NodeId>(&node - &out_.graph.node(0)); }

  // Small unknown inputs that may decide the shape; true when there are any.
  bool request_inputs(const ir::Node& node) {
    if (node.op->has(ir::kControl) || contains(kDataDependent, node.op->name)) return false;
    bool any = false;
    for (size_t slot = contains(kSizeFirst, node.op->name) ? 0 : 1; slot < node.inputs.size(); ++slot) {
      const ir::ValueId id = node.inputs[slot];
      if (id == ir::kNoValue) continue;
      const ir::Value& value = out_.graph.value(id);
      if (value.is_constant() || !is_dense(value.type)) continue;
      if (ir::element_count(*value.type.static_dims()) > kMaxRequested) continue;
      out_.requested.push_back(id);
      any = true;
    }
    return any;
  }

  // Turns a node over small known inputs into constants; false when it has to run.
  bool fold(const ir::Node& node) {
    if (node.op->has(ir::kRandom) || node.op->has(ir::kControl)) return false;
    for (const ir::ValueId id : node.outputs) {
      if (id == ir::kNoValue) continue;
      const ir::ValueType& type = out_.graph.value(id).type;
      if (!is_dense(type) || ir::element_count(*type.static_dims()) > kMaxFoldedOutput) return false;
    }
    return fold_dims_value(node) || fold_by_evaluation(node);
  }

  // Shape, Size and arithmetic on their results: the rule itself has computed the numbers.
  bool fold_dims_value(const ir::Node& node) {
    if (node.outputs.size() != 1 || node.outputs[0] == ir::kNoValue) return false;
    ir::Value& value = out_.graph.value(node.outputs[0]);
    const std::optional<ir::Dims> dims = value.type.static_dims();
    if (!value.dims_value || (value.type.dtype != ir::DType::kInt64 && value.type.dtype != ir::DType::kInt32))
      return false;
    const std::optional<ir::Dims> numbers = ir::to_dims(*value.dims_value);
    if (!numbers || static_cast<int64_t>(numbers->size()) != ir::element_count(*dims)) return false;
    ir::Tensor data = ir::Tensor::allocate(value.type.dtype, *dims);
    for (size_t i = 0; i < numbers->size(); ++i) data.set_int(static_cast<int64_t>(i), (*numbers)[i]);
    value.constant = std::move(data);
    return true;
  }

  bool fold_by_evaluation(const ir::Node& node) {
    std::vector<ir::Datum> inputs;
    for (const ir::ValueId id : node.inputs) {
      if (id == ir::kNoValue) {
        inputs.emplace_back();
        continue;
      }
      const ir::Tensor& data = out_.graph.value(id).constant;
      if (!data.defined() || data.size() > kMaxFoldedInput) return false;
      inputs.emplace_back(data);
    }
    auto outputs = ops::evaluate(
        {.op = *node.op, .attrs = node.attrs, .inputs = inputs, .output_count = static_cast<int>(node.outputs.size())});
    // What fails here fails again, with its place in the run, when the node is a step.
    if (!outputs.ok()) return false;
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i] != ir::kNoValue && !fits(out_.graph.value(node.outputs[i]).type, (*outputs)[i])) return false;
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i] != ir::kNoValue) out_.graph.value(node.outputs[i]).constant = (*outputs)[i].tensor();
    return true;
  }

  static bool fits(const ir::ValueType& type, const ir::Datum& datum) {
    return datum.is_tensor() && datum.tensor().dtype() == type.dtype && datum.tensor().dims() == *type.static_dims();
  }

  Resolved out_;
};

}  // namespace

bool is_dense(const ir::ValueType& type) {
  return type.is_tensor() && type.dtype != ir::DType::kString && type.static_dims().has_value();
}

Result<Resolved> resolve_stage(const ir::Graph& graph, std::span<const ir::NodeId> nodes,
                               std::span<const KnownValue> known) {
  return StageResolver(graph, known).run(nodes);
}

}  // namespace tutti::exec
