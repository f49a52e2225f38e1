// Short forms for tests of one operator: its kernel and its shape rule.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/infer.h"
#include "ir/op_def.h"
#include "ops/interpreter.h"

namespace tutti::ops {

inline Result<std::vector<ir::Datum>> run_op(const ir::OpDef& op, std::vector<ir::Datum> inputs, ir::Attrs attrs = {},
                                             int outputs = 1) {
  if (attrs.empty() && op.make_attrs) attrs = ir::Attrs(op.make_attrs());
  return evaluate({.op = op, .attrs = attrs, .inputs = inputs, .output_count = outputs});
}

// The error of run_op, or "no error".
inline std::string run_error(const ir::OpDef& op, std::vector<ir::Datum> inputs, ir::Attrs attrs = {}) {
  const auto result = run_op(op, std::move(inputs), std::move(attrs));
  return result.ok() ? "no error" : result.error().text();
}

// The type that the shape rule gives output 0, as text ("float32[n,2]"), or the error's text. Inputs are types as text,
// "" where absent.
inline std::string inferred(const ir::OpDef& op, std::vector<std::string> inputs, ir::Attrs attrs = {}) {
  ir::Graph graph;
  if (attrs.empty() && op.make_attrs) attrs = ir::Attrs(op.make_attrs());
  ir::NodeSpec spec{.op = &op, .attrs = std::move(attrs), .output_names = {"y"}};
  for (const std::string& text : inputs) {
    spec.inputs.push_back(ir::kNoValue);
    if (text.empty()) continue;
    const auto type = ir::ValueType::parse(text);
    if (!type.ok()) return type.error().text();
    spec.inputs.back() = graph.add_input(graph.unique_name("x"), *type);
  }
  const ir::NodeId node = graph.add_node(std::move(spec));
  const Status status = ir::infer_node(graph, node);
  return status.ok() ? graph.value(graph.node(node).outputs[0]).type.text() : status.error().text();
}

}  // namespace tutti::ops
