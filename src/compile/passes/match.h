// What rules ask about nodes and values. Operators and attributes go by their ONNX names, so that a rule can look at
// any family.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "compile/pass.h"
#include "ir/attr_access.h"
#include "ir/graph.h"
#include "ir/rewrite.h"

namespace tutti::compile {

// The operators of these names.
std::vector<const ir::OpDef*> ops_named(std::initializer_list<std::string_view> names);
const ir::OpDef& op_named(std::string_view name);

bool is_op(const ir::Node& node, std::string_view name);
// Input `i`, or kNoValue where it is absent.
ir::ValueId input_of(const ir::Node& node, size_t i);
bool has_input(const ir::Node& node, size_t i);
// The value's producer, if its operator has this name; else null.
const ir::Node* made_by(const ir::Graph& graph, ir::ValueId value, std::string_view op);
// Null when absent or not constant.
const ir::Tensor* constant_of(const ir::Graph& graph, ir::ValueId value);
// The number, when the value is a constant of one element of a float or integer type.
std::optional<double> scalar_of(const ir::Graph& graph, ir::ValueId value);
bool is_scalar_near(const ir::Graph& graph, ir::ValueId value, double expected, double relative = 1e-5);
// The elements of an integer constant.
std::optional<std::vector<int64_t>> ints_of(const ir::Graph& graph, ir::ValueId value);
// Provably the same kind, element type and shape.
bool same_type(const ir::Graph& graph, ir::ValueId a, ir::ValueId b);
ir::DType dtype_of(const ir::Graph& graph, ir::ValueId value);
std::optional<ir::Dims> static_dims_of(const ir::Graph& graph, ir::ValueId value);

// A patch whose only effect is that `node`'s first output becomes `value`.
ir::Patch forward(const ir::Graph& graph, std::string_view name, const ir::Node& node, ir::ValueId value);
ir::Attrs attrs_with(const ir::OpDef& op, std::initializer_list<ir::AttrField> fields);
ir::Tensor scalar_tensor(ir::DType dtype, double value);

// The target of a Reshape from `from` to `to` as numbers: a dim, 0 where it is the data's own dim at the same place,
// one -1 for the rest; nothing if that is not enough.
std::optional<std::vector<int64_t>> reshape_numbers(const ir::Graph& graph, const ir::Shape& from,
                                                    const std::vector<ir::Dim>& to);
// The node's results as constants, when all of its inputs are constants and the results are not much larger than they.
std::optional<ir::Patch> fold_node(const ir::Graph& graph, ir::NodeId node);

Result<PassStats> apply_rules(ir::Graph& graph, std::span<const ir::Rule> rules, const PassContext& context);

}  // namespace tutti::compile
