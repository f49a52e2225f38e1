// Control flow, sequences, optionals and strings. Bodies become closed graphs (ops/control.h has the conventions).
#include <algorithm>

#include <fmt/format.h>

#include "ir/infer.h"
#include "onnx/map.h"
#include "ops/control.h"

namespace tutti::onnx {
namespace {

using ir::ValueId;
using ir::ValueType;

std::vector<std::unique_ptr<ir::Graph>> bodies_of(std::unique_ptr<ir::Graph> body) {
  std::vector<std::unique_ptr<ir::Graph>> out;
  out.push_back(std::move(body));
  return out;
}

void append(std::vector<ValueId>& to, const std::vector<ValueId>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

Status build_if(NodeBuilder& node) {
  const auto captures = TUTTI_TRY(node.find_captures({"then_branch", "else_branch"}));
  std::vector<std::unique_ptr<ir::Graph>> bodies;
  for (const char* branch : {"then_branch", "else_branch"})
    bodies.push_back(TUTTI_TRY(node.body(branch, {}, captures)));
  std::vector<ValueId> inputs{node.input(0)};
  append(inputs, node.capture_inputs(captures));
  const int outputs = static_cast<int>(bodies[0]->outputs().size());
  return node.finish("If", std::move(inputs), {}, std::move(bodies), outputs);
}

Status build_loop(NodeBuilder& node) {
  const int carried = TUTTI_TRY(node.body_input_count("body")) - 2;
  if (carried < 0 || node.input_count() > carried + 2)
    return make_error(Code::kInvalidModel,
                      "found {} inputs and a body of {}, expected the body to take the iteration, the condition and "
                      "each carried value",
                      node.input_count(), carried + 2);
  const auto captures = TUTTI_TRY(node.find_captures({"body"}));
  std::vector<ValueType> own{ValueType::tensor(ir::DType::kInt64, ir::Shape{}),
                             ValueType::tensor(ir::DType::kBool, ir::Shape{})};
  std::vector<ValueId> inputs{node.input(0), node.input(1)};
  for (int i = 2; i < carried + 2; ++i) {
    inputs.push_back(node.input(i));
    own.push_back(node.has_input(i) ? node.loosened(node.input_type(i), node.graph()) : ValueType());
  }
  auto body = TUTTI_TRY(node.body("body", own, captures));
  append(inputs, node.capture_inputs(captures));
  const int outputs = static_cast<int>(body->outputs().size()) - 1;
  return node.finish("Loop", std::move(inputs), {{"carried", static_cast<int64_t>(carried)}},
                     bodies_of(std::move(body)), outputs);
}

// What one iteration sees of a scanned input.
ValueType slice_type(ValueType type, int64_t axis) {
  if (!type.shape || type.shape->empty()) return type;
  const int64_t rank = type.rank();
  const int64_t at = axis < 0 ? axis + rank : axis;
  if (at >= 0 && at < rank) type.shape->erase(type.shape->begin() + at);
  return type;
}

Status build_scan(NodeBuilder& node) {
  const auto scanned = node.attrs.get<int64_t>("num_scan_inputs");
  if (!scanned || *scanned < 0 || *scanned > node.input_count())
    return make_error(Code::kInvalidModel, "attribute 'num_scan_inputs': found {}, expected 0 to {}",
                      scanned.value_or(-1), node.input_count());
  const auto captures = TUTTI_TRY(node.find_captures({"body"}));
  const auto axes = node.attrs.get<std::vector<int64_t>>("scan_input_axes").value_or(std::vector<int64_t>{});
  const int states = node.input_count() - static_cast<int>(*scanned);
  std::vector<ValueType> own;
  for (int i = 0; i < node.input_count(); ++i) {
    if (!node.has_input(i)) return make_error(Code::kInvalidModel, "input {}: found none, expected a value", i);
    const size_t scan = static_cast<size_t>(i - states);
    own.push_back(i < states ? node.loosened(node.input_type(i), node.graph())
                             : slice_type(node.input_type(i), scan < axes.size() ? axes[scan] : 0));
  }
  auto body = TUTTI_TRY(node.body("body", own, captures));
  std::vector<ValueId> inputs = node.inputs();
  append(inputs, node.capture_inputs(captures));
  node.attrs.erase("body");
  node.attrs.set("states", static_cast<int64_t>(states));
  const int outputs = static_cast<int>(body->outputs().size());
  return node.finish("Scan", std::move(inputs), node.attrs, bodies_of(std::move(body)), outputs);
}

// A graph over one entry of a batch that scans its sequence with `body`.
Result<std::unique_ptr<ir::Graph>> scan_of_entry(NodeBuilder& node, const std::vector<ValueId>& inputs,
                                                 const ops::ScanAttrs& attrs, std::unique_ptr<ir::Graph> body) {
  auto entry = std::make_unique<ir::Graph>();
  entry->symbols() = node.graph().symbols();
  ir::NodeSpec spec{.op = &ops::kScan, .attrs = attrs, .name = "scan"};
  const auto own = static_cast<size_t>(attrs.states + attrs.num_scan_inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueType& type = node.type(inputs[i]);
    spec.inputs.push_back(entry->add_input(fmt::format("in_{}", i), i < own ? slice_type(type, 0) : type));
  }
  for (size_t i = 0; i < body->outputs().size(); ++i) spec.output_names.push_back(fmt::format("out_{}", i));
  spec.bodies = bodies_of(std::move(body));
  const ir::NodeId scan = entry->add_node(std::move(spec));
  TUTTI_TRY(ir::infer_node(*entry, scan));
  for (size_t i = 0; i < entry->node(scan).outputs.size(); ++i)
    entry->add_output(fmt::format("out_{}", i), entry->node(scan).outputs[i]);
  return entry;
}

// Opset 8 had a batch before everything, and the body saw one step of one entry: a scan over the batch of scans.
Status build_scan_8(NodeBuilder& node) {
  if (node.has_input(0))
    return Error(Code::kUnsupported, "sequence lengths (input 0 of Scan, opset 8) are not converted",
                 "convert the model to opset 9 or newer");
  std::vector<ValueId> inputs(node.inputs().begin() + std::min(node.input_count(), 1), node.inputs().end());
  const auto count = static_cast<int64_t>(inputs.size());
  const int64_t scanned = node.attrs.get<int64_t>("num_scan_inputs").value_or(-1);
  if (scanned < 1 || scanned > count)
    return make_error(Code::kInvalidModel, "attribute 'num_scan_inputs': found {}, expected 1 to {}", scanned, count);
  const auto captures = TUTTI_TRY(node.find_captures({"body"}));
  std::vector<ValueType> own;
  for (int64_t i = 0; i < count; ++i) {
    const ValueId input = inputs[static_cast<size_t>(i)];
    if (input == ir::kNoValue) return make_error(Code::kInvalidModel, "input {}: found none, expected a value", i + 1);
    const ValueType one = slice_type(node.type(input), 0);
    own.push_back(i < count - scanned ? node.loosened(one, node.graph()) : slice_type(one, 0));
  }
  auto body = TUTTI_TRY(node.body("body", own, captures));
  if (node.tainted()) return {};
  append(inputs, node.capture_inputs(captures));
  ops::ScanAttrs steps;
  steps.states = count - scanned;
  steps.num_scan_inputs = scanned;
  steps.scan_input_directions = node.attrs.get<std::vector<int64_t>>("directions").value_or(std::vector<int64_t>{});
  const int outputs = static_cast<int>(body->outputs().size());
  auto entry = TUTTI_TRY(scan_of_entry(node, inputs, steps, std::move(body)));
  return node.finish("Scan", std::move(inputs), {{"num_scan_inputs", count}}, bodies_of(std::move(entry)), outputs);
}

Status build_sequence_map(NodeBuilder& node) {
  const auto captures = TUTTI_TRY(node.find_captures({"body"}));
  std::vector<ValueType> own;
  for (int i = 0; i < node.input_count(); ++i) {
    if (!node.has_input(i)) return make_error(Code::kInvalidModel, "input {}: found none, expected a value", i);
    ValueType type = node.input_type(i);
    type.kind = ValueType::Kind::kTensor;
    own.push_back(std::move(type));
  }
  auto body = TUTTI_TRY(node.body("body", own, captures));
  std::vector<ValueId> inputs = node.inputs();
  append(inputs, node.capture_inputs(captures));
  const int outputs = static_cast<int>(body->outputs().size());
  return node.finish("SequenceMap", std::move(inputs), {{"additional", static_cast<int64_t>(node.input_count() - 1)}},
                     bodies_of(std::move(body)), outputs);
}

// An optional without a value says what it would hold; one with a value need not.
Status build_optional(NodeBuilder& node) {
  const auto type = node.attrs.take<pb::TypeProto*>("type");
  if (type && !node.has_input(0)) {
    const ValueType held = TUTTI_TRY(node.read_type(**type));
    node.attrs.set("dtype", static_cast<int64_t>(held.dtype));
    node.attrs.set("sequence", static_cast<int64_t>(held.kind == ValueType::Kind::kSequence));
  }
  return direct(node);
}

constexpr MapRow kRows[] = {
    {"If", 1, build_if},
    {"Loop", 1, build_loop},
    {"Scan", 8, build_scan_8},
    {"Scan", 9, build_scan},
    {"SequenceMap", 17, build_sequence_map},
    {"ConcatFromSequence", 11, direct},
    {"SequenceAt", 11, direct},
    {"SequenceConstruct", 11, direct},
    {"SequenceEmpty", 11, direct},
    {"SequenceErase", 11, direct},
    {"SequenceInsert", 11, direct},
    {"SequenceLength", 11, direct},
    {"SplitToSequence", 11, direct},
    {"Optional", 15, build_optional},
    {"OptionalGetElement", 15, direct},
    {"OptionalHasElement", 15, direct},
    {"RegexFullMatch", 20, direct},
    {"StringConcat", 20, direct},
    {"StringNormalizer", 10, direct},
    {"StringSplit", 20, direct},
    {"TfIdfVectorizer", 9, direct},
};

}  // namespace

std::span<const MapRow> control_rows() { return kRows; }

}  // namespace tutti::onnx
