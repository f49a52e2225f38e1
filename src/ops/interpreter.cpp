#include "ops/interpreter.h"

#include <algorithm>

#include "ir/infer.h"
#include "ir/op_def.h"

namespace tutti::ops {
namespace {

using ir::Datum;
using ir::Graph;
using ir::NodeId;
using ir::Tensor;
using ir::ValueId;

// Runs one graph any number of times. One thread at a time.
class Run {
 public:
  Run(const Graph& graph, const InterpretOptions& options) : graph_(graph), options_(options), order_(graph.order()) {
    read_counts_.resize(static_cast<size_t>(graph.value_capacity()), 0);
    for (NodeId id : order_)
      for (ValueId value : graph.node(id).inputs)
        if (value != ir::kNoValue) ++read_counts_[static_cast<size_t>(value)];
    for (const ir::Port& port : graph.outputs()) ++read_counts_[static_cast<size_t>(port.value)];
  }

  Result<std::vector<Datum>> operator()(std::span<const Datum> inputs, uint64_t seed) {
    TUTTI_TRY(bind_inputs(inputs));
    remaining_ = read_counts_;
    for (NodeId id : order_) TUTTI_TRY(step(id, stream_seed(seed, static_cast<uint64_t>(id))));
    std::vector<Datum> outputs;
    for (const ir::Port& port : graph_.outputs()) outputs.push_back(read(port.value));
    values_.clear();
    return outputs;
  }

 private:
  Status bind_inputs(std::span<const Datum> inputs) {
    if (inputs.size() != graph_.inputs().size())
      return make_error(Code::kInvalidInput, "the graph has {} inputs; {} were given", graph_.inputs().size(),
                        inputs.size());
    values_.assign(static_cast<size_t>(graph_.value_capacity()), Datum());
    for (size_t i = 0; i < inputs.size(); ++i) {
      TUTTI_TRY(check_input(graph_.inputs()[i], inputs[i]));
      values_[static_cast<size_t>(graph_.inputs()[i].value)] = inputs[i];
    }
    return ok_status();
  }

  Status check_input(const ir::Port& port, const Datum& datum) const {
    const ir::ValueType& type = graph_.value(port.value).type;
    if (!datum.is_tensor() || type.dtype == ir::DType::kUndefined) return ok_status();
    bool fits = datum.tensor().dtype() == type.dtype && (!type.shape || datum.tensor().rank() == type.rank());
    for (int64_t i = 0; fits && type.shape && i < type.rank(); ++i) {
      const auto expected = (*type.shape)[static_cast<size_t>(i)].constant();
      fits = !expected || *expected == datum.tensor().dim(i);
    }
    if (fits) return ok_status();
    return make_error(Code::kInvalidInput, "input '{}' is {}; expected {}", port.name, datum.tensor().type_text(),
                      type.text());
  }

  Datum read(ValueId id) const {
    if (id == ir::kNoValue) return {};
    const ir::Value& value = graph_.value(id);
    return value.is_constant() ? Datum(value.constant) : values_[static_cast<size_t>(id)];
  }

  // Takes the value; its last reader gets it without leaving a copy behind, so that memory is freed as early as
  // possible.
  Datum take(ValueId id) {
    if (id == ir::kNoValue) return {};
    Datum datum = read(id);
    if (--remaining_[static_cast<size_t>(id)] == 0) values_[static_cast<size_t>(id)] = Datum();
    return datum;
  }

  Status step(NodeId id, uint64_t seed) {
    const ir::Node& node = graph_.node(id);
    std::vector<Datum> inputs;
    for (ValueId value : node.inputs) inputs.push_back(take(value));
    auto wanted = std::make_unique<bool[]>(node.outputs.size());
    for (size_t i = 0; i < node.outputs.size(); ++i) wanted[i] = node.outputs[i] != ir::kNoValue;
    auto result = evaluate({.op = *node.op,
                            .attrs = node.attrs,
                            .inputs = inputs,
                            .output_count = static_cast<int>(node.outputs.size()),
                            .bodies = node.bodies,
                            .seed = seed,
                            .wanted = {wanted.get(), node.outputs.size()}});
    if (!result.ok()) return result.take_error().with_context(ir::describe_node(graph_, id));
    if (options_.on_node) options_.on_node(id, inputs, *result);
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (wanted[i] && remaining_[static_cast<size_t>(node.outputs[i])] > 0)
        values_[static_cast<size_t>(node.outputs[i])] = std::move((*result)[i]);
    return ok_status();
  }

  const Graph& graph_;
  const InterpretOptions& options_;
  std::vector<NodeId> order_;
  std::vector<int32_t> read_counts_, remaining_;  // by value
  std::vector<Datum> values_;
};

// Bodies of one node; each is prepared once however often a loop runs it.
class Bodies final : public ir::BodyRunner {
 public:
  Bodies(std::span<const std::unique_ptr<Graph>> graphs, uint64_t seed)
      : graphs_(graphs), runs_(graphs.size()), seed_(seed) {}

  Result<std::vector<Datum>> run_body(int body, std::span<const Datum> inputs) override {
    auto& run = runs_[static_cast<size_t>(body)];
    if (!run) run = std::make_unique<Run>(*graphs_[static_cast<size_t>(body)], options_);
    return (*run)(inputs, stream_seed(seed_, ++calls_));
  }

  std::vector<ir::ValueType> body_output_types(int body) const override {
    return output_types(*graphs_[static_cast<size_t>(body)]);
  }

 private:
  std::span<const std::unique_ptr<Graph>> graphs_;
  InterpretOptions options_;  // on_node is for the outermost graph only
  std::vector<std::unique_ptr<Run>> runs_;
  uint64_t seed_, calls_ = 0;
};

ir::ValueType type_of(const Datum& datum) {
  if (datum.empty()) return {};
  if (datum.is_tensor()) return ir::ValueType::tensor(datum.tensor().dtype(), ir::to_shape(datum.tensor().dims()));
  return ir::ValueType::sequence(datum.sequence().empty() ? ir::DType::kUndefined : datum.sequence().front().dtype());
}

Result<std::vector<Datum>> evaluate_expansion(const EvalRequest& request) {
  std::vector<ir::ValueType> types;
  std::vector<Datum> present;  // the expansion has an input for each input that is there
  for (const Datum& datum : request.inputs) {
    types.push_back(type_of(datum));
    if (!datum.empty()) present.push_back(datum);
  }
  const Graph graph = TUTTI_TRY(request.op.expand({request.attrs, types, request.output_count}));
  return interpret(graph, present, {.seed = request.seed});
}

Status check_outputs(const EvalRequest& request, const std::vector<Datum>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].is_tensor() && !outputs[i].tensor().defined())
      return make_error(Code::kInternal, "the reference kernel of {} left output {} undefined", request.op.name, i);
  return ok_status();
}

}  // namespace

// Results must not depend on the order in which nodes run.
uint64_t stream_seed(uint64_t seed, uint64_t index) {
  uint64_t x = seed + 0x9e3779b97f4a7c15ull * (index + 1);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

Result<std::vector<Datum>> interpret(const Graph& graph, std::span<const Datum> inputs,
                                     const InterpretOptions& options) {
  return Run(graph, options)(inputs, options.seed);
}

Result<std::vector<Datum>> evaluate(const EvalRequest& request) {
  if (request.op.eval == nullptr && request.op.expand != nullptr) return evaluate_expansion(request);
  if (request.op.eval == nullptr)
    return make_error(Code::kInternal, "operator {} has neither a reference kernel nor an expansion", request.op.name);
  Bodies bodies(request.bodies, request.seed);
  std::mt19937_64 random(request.seed);
  ir::EvalContext ctx({.attrs = &request.attrs,
                       .inputs = request.inputs,
                       .output_count = request.output_count,
                       .bodies = &bodies,
                       .random = &random,
                       .wanted = request.wanted});
  TUTTI_TRY(request.op.eval(ctx));
  TUTTI_TRY(check_outputs(request, ctx.outputs()));
  return std::move(ctx.outputs());
}

std::vector<ir::ValueType> output_types(const ir::Graph& graph) {
  std::vector<ir::ValueType> types;
  for (const ir::Port& port : graph.outputs()) types.push_back(graph.value(port.value).type);
  return types;
}

}  // namespace tutti::ops
