// What shape and type rules share: checks with one wording, and the rules that many operators have in common.
#pragma once

#include <initializer_list>
#include <string>

#include "ir/op_def.h"

namespace tutti::ops {

// --- checks; errors name the input, what was found and what was expected

// For a required input that stands after optional ones; those before are OpDef::min_inputs.
Status expect_present(const ir::InferContext& ctx, int input);
Status expect_dtype(const ir::InferContext& ctx, int input, std::initializer_list<ir::DType> allowed);
// `kind` says in words what `accepts` accepts: "a float", "an integer", "a number".
Status expect_kind(const ir::InferContext& ctx, int input, bool (*accepts)(ir::DType), std::string_view kind);
Status expect_same_dtype(const ir::InferContext& ctx, int first, int second);
// Unknown ranks pass.
Status expect_rank(const ir::InferContext& ctx, int input, int64_t rank);
Status expect_rank_at_least(const ir::InferContext& ctx, int input, int64_t rank);
Status expect_tensor(const ir::InferContext& ctx, int input);

bool is_number(ir::DType dtype);      // floats of every format and integers of every width
bool is_arithmetic(ir::DType dtype);  // compute floats and integers of 8 to 64 bits
bool is_int32_or_int64(ir::DType dtype);
bool is_bool(ir::DType dtype);

// --- shapes

// The broadcast of inputs first..last; nothing when one has no rank.
Result<std::optional<ir::Shape>> broadcast_inputs(const ir::InferContext& ctx, int first, int last);
// The constant attribute-like axis against a rank that may be unknown.
Result<int64_t> axis_of(const ir::InferContext& ctx, int input, int64_t axis);
ir::Shape fresh_shape(ir::InferContext& ctx, int64_t rank, std::string_view prefix);
// Number of elements of an integer rank-1 input where known.
std::optional<int64_t> vector_length(const ir::InferContext& ctx, int input);
ir::Dim product(const ir::Shape& shape, size_t begin, size_t end);

// --- whole rules

Status infer_like_first(ir::InferContext& ctx);         // output 0 has input 0's type, whatever it is
Status infer_float_like_first(ir::InferContext& ctx);   // the same; a compute float
Status infer_number_like_first(ir::InferContext& ctx);  // the same; arithmetic types

}  // namespace tutti::ops
