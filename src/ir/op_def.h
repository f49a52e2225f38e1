// What the compiler, the interpreter and the runtime know about an operator. One OpDef per operator, defined in
// src/ops.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ir/attrs.h"
#include "ir/graph.h"
#include "ir/tensor.h"
#include "ir/type.h"

namespace tutti::ir {

// How far a kernel's result may be from the reference: bit-equal, rounding order only, or approximated functions.
enum class Tolerance : uint8_t { kExact, kRounding, kApproximate };

enum OpTraits : uint32_t {
  kNoTraits = 0,
  kPointwise = 1,    // out[i] depends on in[i] of broadcast inputs only
  kCommutative = 2,  // the first two inputs may be swapped
  kRandom = 4,       // results differ from run to run: never folded, never merged
  kView = 8,         // the output is the first input's data under another shape
  kControl = 16,     // runs bodies
};

// Shape and type rule input. The rule validates everything it can and sets every wanted output.
class InferContext {
 public:
  InferContext(Graph& graph, NodeId node) : graph_(graph), node_id_(node) {}

  template <class A>
  const A& attrs() const {
    return node().attrs.template as<A>();
  }
  const Node& node() const { return graph_.node(node_id_); }
  int input_count() const { return static_cast<int>(node().inputs.size()); }
  bool has_input(int i) const { return i < input_count() && node().inputs[static_cast<size_t>(i)] != kNoValue; }
  const ValueType& input(int i) const { return value_of(i).type; }
  DType dtype(int i) const { return input(i).dtype; }
  const std::optional<Shape>& shape(int i) const { return input(i).shape; }  // nothing when the rank is unknown
  // The input's data when it is a constant of the graph, else null.
  const Tensor* constant(int i) const;
  // Elements of an integer input of rank 0 or 1 as expressions, from a constant or from shape arithmetic.
  std::optional<std::vector<Dim>> dims_value(int i) const;
  // The same when every element is a known number.
  std::optional<std::vector<int64_t>> ints_value(int i) const;

  int output_count() const { return static_cast<int>(node().outputs.size()); }
  bool wants_output(int i) const { return i < output_count() && node().outputs[static_cast<size_t>(i)] != kNoValue; }
  void set_output(int i, ValueType type);  // ignored when not wanted
  void set_output(int i, DType dtype, Shape shape) { set_output(i, ValueType::tensor(dtype, std::move(shape))); }
  void set_output_unranked(int i, DType dtype) { set_output(i, ValueType::tensor(dtype, std::nullopt)); }
  void set_dims_value(int i, std::vector<Dim> value);

  // A dimension known only at run time.
  Dim fresh_dim(std::string_view prefix) { return graph_.fresh_symbol(prefix); }
  // Gives body `i` these input types, infers it, and returns its output types.
  Result<std::vector<ValueType>> infer_body(int i, std::span<const ValueType> inputs);
  const SymbolRanges& symbols() const { return graph_.symbols(); }

 private:
  const Value& value_of(int i) const { return graph_.value(node().inputs[static_cast<size_t>(i)]); }
  Graph& graph_;
  NodeId node_id_;
};

// Runs body graphs for control-flow operators; implemented by the interpreter and by the executor.
class BodyRunner {
 public:
  virtual ~BodyRunner() = default;
  virtual Result<std::vector<Datum>> run_body(int body, std::span<const Datum> inputs) = 0;
  // The inferred types of the body's outputs, for loops that run zero times; empty when not known.
  virtual std::vector<ValueType> body_output_types(int /*body*/) const { return {}; }
};

// One evaluation of a reference kernel on host data. The kernel allocates its outputs through output().
class EvalContext {
 public:
  struct Setup {
    const Attrs* attrs = nullptr;
    std::span<const Datum> inputs;  // empty() where absent
    int output_count = 0;
    BodyRunner* bodies = nullptr;       // control flow only
    std::mt19937_64* random = nullptr;  // random operators only
    std::span<const bool> wanted = {};  // outputs that are used; empty means all
  };
  explicit EvalContext(Setup setup) : setup_(setup), outputs_(static_cast<size_t>(setup.output_count)) {}

  template <class A>
  const A& attrs() const {
    return setup_.attrs->as<A>();
  }
  int input_count() const { return static_cast<int>(setup_.inputs.size()); }
  bool has_input(int i) const { return i < input_count() && !setup_.inputs[static_cast<size_t>(i)].empty(); }
  const Datum& datum(int i) const { return setup_.inputs[static_cast<size_t>(i)]; }
  const Tensor& input(int i) const { return datum(i).tensor(); }
  int output_count() const { return setup_.output_count; }
  bool wants_output(int i) const {
    return i < output_count() && (setup_.wanted.empty() || setup_.wanted[static_cast<size_t>(i)]);
  }
  // Allocates output `i`; a Limit error when the dims overflow. The reference stays valid for the context's life.
  Result<Tensor*> output(int i, DType dtype, Dims dims);
  void set_output(int i, Datum datum) {
    if (i < output_count()) outputs_[static_cast<size_t>(i)] = std::move(datum);
  }
  Result<std::vector<Datum>> run_body(int body, std::span<const Datum> inputs) {
    return setup_.bodies->run_body(body, inputs);
  }
  std::vector<ValueType> body_output_types(int body) const { return setup_.bodies->body_output_types(body); }
  std::mt19937_64& random() { return *setup_.random; }
  std::vector<Datum>& outputs() { return outputs_; }

 private:
  Setup setup_;
  std::vector<Datum> outputs_;
};

// What a fused op's expansion is made from.
struct ExpandQuery {
  const Attrs& attrs;
  std::span<const ValueType> inputs;  // dtype undefined where absent
  int output_count;
};

inline constexpr int kAnyCount = 1 << 20;

// A plain table row; instances are constants defined beside their functions, so there is no start-up code.
struct OpDef {
  std::string_view name;               // unique; ONNX's name for ONNX operators
  int min_inputs = 0, max_inputs = 0;  // kAnyCount for variadic
  int min_outputs = 1, max_outputs = 1;
  std::unique_ptr<AttrsBase> (*make_attrs)() = nullptr;
  Status (*infer)(InferContext&) = nullptr;
  Status (*eval)(EvalContext&) = nullptr;                 // null for fused ops: their expansion is evaluated
  Result<Graph> (*expand)(const ExpandQuery&) = nullptr;  // the definition of a fused op in plain ops
  Tolerance tolerance = Tolerance::kRounding;
  uint32_t traits = kNoTraits;
  int body_count = 0;

  bool has(OpTraits trait) const { return (traits & trait) != 0; }
};

template <class A>
std::unique_ptr<AttrsBase> make_attrs() {
  return std::make_unique<A>();
}

}  // namespace tutti::ir
