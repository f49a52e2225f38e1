// Small graphs for tests of executors and engine files, each with inputs that it runs on. Header only: the test links
// ir and ops.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/attr_access.h"
#include "ir/builder.h"
#include "ir/infer.h"
#include "ops/control.h"
#include "ops/op_list.h"

namespace tutti::testing {

inline const ir::OpDef& op(std::string_view name) {
  const ir::OpDef* found = ops::find_op(name);
  TUTTI_CHECK(found != nullptr, "there is no operator {}", name);
  return *found;
}

inline ir::ValueType floats(std::initializer_list<ir::Dim> shape) {
  return ir::ValueType::tensor(ir::DType::kFloat32, ir::Shape(shape));
}

// Values in [-1, 1) that depend on the seed alone.
inline ir::Tensor filled(ir::Dims dims, uint64_t seed) {
  ir::Tensor out = ir::Tensor::allocate(ir::DType::kFloat32, std::move(dims));
  uint64_t state = seed * 0x9E3779B97F4A7C15ull + 1;
  for (float& value : out.mutable_data<float>()) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    value = static_cast<float>(static_cast<int64_t>(state >> 40) - (1 << 23)) / (1 << 23);
  }
  return out;
}

inline ir::Graph finished(ir::GraphBuilder&& builder) {
  auto graph = std::move(builder).finish();
  TUTTI_CHECK(graph.ok(), "{}", graph.error().text());
  return std::move(graph).value();
}

// (relu(x) + w) * sigmoid(relu(x) + w), with a second output in the middle.
inline ir::Graph static_graph() {
  ir::GraphBuilder b;
  const auto x = b.input("x", floats({2, 300}));
  const auto w = b.constant(filled({2, 300}, 1));
  const auto sum = b.node(op("Add"), {b.node(op("Relu"), {x}), w});
  const auto gate = b.node(op("Sigmoid"), {sum});
  b.output("sum", sum);
  b.output("y", b.node(op("Mul"), {sum, gate}));
  return finished(std::move(b));
}

// Flattens the last two of three dims through shape arithmetic, and back.
inline ir::Graph dynamic_graph() {
  ir::GraphBuilder b;
  const auto n = ir::Dim::symbol("n"), m = ir::Dim::symbol("m");
  const auto x = b.input("x", floats({n, m, 4}));
  const auto shape = b.node(op("Shape"), {x});
  const auto first = b.node(op("Slice"), {shape, b.ints({0}), b.ints({1})});
  const auto flat = b.node(op("Reshape"),
                           {b.node(op("Tanh"), {x}), b.node(op("Concat"), {first, b.ints({-1})},
                                                            *ir::make_attrs_of(op("Concat"), {{"axis", int64_t{0}}}))});
  const auto back = b.node(op("Reshape"), {b.node(op("Exp"), {flat}), shape});
  b.output("y", b.node(op("Add"), {back, x}));
  return finished(std::move(b));
}

// The output's shape depends on the data; more follows it.
inline ir::Graph unique_graph() {
  ir::GraphBuilder b;
  const auto x = b.input("x", floats({ir::Dim::symbol("n")}));
  const auto values = b.node(op("Unique"), {b.node(op("Relu"), {x})});
  b.output("values", values);
  b.output("twice", b.node(op("Add"), {values, values}));
  b.output("count", b.node(op("Shape"), {values}));
  return finished(std::move(b));
}

// The target shape is an input.
inline ir::Graph reshape_by_input_graph() {
  ir::GraphBuilder b;
  const auto x = b.input("x", floats({ir::Dim::symbol("n")}));
  const auto shape = b.input("shape", ir::ValueType::tensor(ir::DType::kInt64, ir::Shape{2}));
  const auto y = b.node(op("Reshape"), {b.node(op("Exp"), {x}), shape});
  b.output("y", b.node(op("Relu"), {y}));
  return finished(std::move(b));
}

inline std::unique_ptr<ir::Graph> body(const std::function<void(ir::GraphBuilder&)>& build) {
  ir::GraphBuilder b;
  build(b);
  return std::make_unique<ir::Graph>(finished(std::move(b)));
}

// if mean(x) > 0 then exp(x) else x (a capture passed through), of an x that was computed before.
inline ir::Graph if_graph() {
  ir::GraphBuilder b;
  const auto type = floats({ir::Dim::symbol("n")});
  const auto x = b.input("x", type);
  const auto cond = b.input("cond", ir::ValueType::tensor(ir::DType::kBool, ir::Shape{}));
  const auto tanh = b.node(op("Tanh"), {x});
  ir::NodeSpec spec{.op = &ops::kIf, .inputs = {cond, tanh}, .output_names = {"chosen"}};
  spec.bodies.push_back(
      body([&](ir::GraphBuilder& then) { then.output("y", then.node(op("Exp"), {then.input("x", type)})); }));
  spec.bodies.push_back(body([&](ir::GraphBuilder& other) { other.output("y", other.input("x", type)); }));
  const ir::NodeId node = b.graph().add_node(std::move(spec));
  TUTTI_CHECK(ir::infer_node(b.graph(), node).ok());
  const auto chosen = b.graph().node(node).outputs[0];
  b.output("chosen", chosen);
  b.output("y", b.node(op("Neg"), {chosen}));
  return finished(std::move(b));
}

// x = x * 0.5 + c, `trips` times, and every x on the way.
inline ir::Graph loop_graph() {
  ir::GraphBuilder b;
  const auto type = floats({ir::Dim::symbol("n")});
  const auto x = b.input("x", type);
  const auto trips = b.input("trips", ir::ValueType::tensor(ir::DType::kInt64, ir::Shape{}));
  const auto captured = b.node(op("Sigmoid"), {x});
  ir::NodeSpec spec{.op = &ops::kLoop,
                    .attrs = ops::LoopAttrs{},
                    .inputs = {trips, ir::kNoValue, x, captured},
                    .output_names = {"last", "all"}};
  spec.attrs.as<ops::LoopAttrs>().carried = 1;
  spec.bodies.push_back(body([&](ir::GraphBuilder& loop) {
    loop.input("i", ir::ValueType::tensor(ir::DType::kInt64, ir::Shape{}));
    const auto cond = loop.input("cond", ir::ValueType::tensor(ir::DType::kBool, ir::Shape{}));
    const auto state = loop.input("state", type);
    const auto c = loop.input("c", type);
    const auto next = loop.node(op("Add"), {loop.node(op("Mul"), {state, loop.scalar(0.5f)}), c});
    loop.output("cond", loop.node(op("Identity"), {cond}));
    loop.output("next", next);
    loop.output("scan", next);
  }));
  const ir::NodeId node = b.graph().add_node(std::move(spec));
  TUTTI_CHECK(ir::infer_node(b.graph(), node).ok());
  const auto outputs = b.graph().node(node).outputs;
  b.output("last", b.node(op("Relu"), {outputs[0]}));
  b.output("all", outputs[1]);
  return finished(std::move(b));
}

// A sequence of two computed tensors, one taken out again.
inline ir::Graph sequence_graph() {
  ir::GraphBuilder b;
  const auto x = b.input("x", floats({ir::Dim::symbol("n"), 3}));
  const auto a = b.node(op("Relu"), {x}), c = b.node(op("Exp"), {x});
  const auto sequence = b.node(op("SequenceConstruct"), {a, c});
  const auto at = b.node(op("SequenceAt"), {sequence, b.scalar<int64_t>(-1)});
  b.output("length", b.node(op("SequenceLength"), {sequence}));
  b.output("y", b.node(op("Neg"), {at}));
  b.output("sequence", sequence);
  return finished(std::move(b));
}

// Equal types, dims and bits, elements of sequences too.
inline bool identical(const ir::Datum& a, const ir::Datum& b) {
  if (a.is_tensor() && b.is_tensor()) return ir::identical(a.tensor(), b.tensor());
  if (!a.is_sequence() || !b.is_sequence()) return a.empty() && b.empty();
  if (a.sequence().size() != b.sequence().size()) return false;
  for (size_t i = 0; i < a.sequence().size(); ++i)
    if (!ir::identical(a.sequence()[i], b.sequence()[i])) return false;
  return true;
}

struct GraphCase {
  std::string name;
  std::function<ir::Graph()> graph;
  std::vector<std::vector<ir::Datum>> inputs;  // one list per run
};

// Cases whose operators are all there.
inline std::vector<GraphCase> graph_cases() {
  auto ints = [](std::initializer_list<int64_t> v) {
    return ir::Tensor::from<int64_t>({static_cast<int64_t>(v.size())}, v);
  };
  auto number = [](int64_t v) { return ir::Tensor::scalar<int64_t>(v); };
  return {
      {"static", static_graph, {{filled({2, 300}, 2)}}},
      {"dynamic", dynamic_graph, {{filled({2, 3, 4}, 1)}, {filled({5, 1, 4}, 2)}, {filled({0, 3, 4}, 2)}}},
      {"unique", unique_graph, {{filled({20}, 1)}, {filled({7}, 2)}, {filled({0}, 2)}}},
      {"reshape_by_input", reshape_by_input_graph, {{filled({12}, 1), ints({3, 4})}, {filled({12}, 2), ints({2, -1})}}},
      {"if",
       if_graph,
       {{filled({5}, 1), ir::Tensor::scalar<bool>(true)}, {filled({5}, 1), ir::Tensor::scalar<bool>(false)}}},
      {"loop", loop_graph, {{filled({6}, 1), number(3)}, {filled({6}, 1), number(0)}, {filled({2}, 1), number(5)}}},
      {"sequence", sequence_graph, {{filled({4, 3}, 1)}, {filled({1, 3}, 2)}}},
  };
}

}  // namespace tutti::testing
