#include "ops/text.h"

#include <algorithm>

#include "ops/broadcast.h"
#include "ops/infer_common.h"
#include "ops/regex.h"
#include "ops/utf8.h"

namespace tutti::ops {
namespace {

using ir::Dim;
using ir::Dims;
using ir::DType;
using ir::EvalContext;
using ir::InferContext;
using ir::Shape;
using ir::Tensor;
using ir::ValueType;

Status expect_strings(const InferContext& context, int i) { return expect_dtype(context, i, {DType::kString}); }

// --- StringConcat

Status infer_concat(InferContext& context) {
  TUTTI_TRY(expect_strings(context, 0));
  TUTTI_TRY(expect_strings(context, 1));
  context.set_output(0, ValueType::tensor(DType::kString, TUTTI_TRY(broadcast_inputs(context, 0, 1))));
  return ok_status();
}

Status eval_concat(EvalContext& context) {
  const Tensor &a = context.input(0), &b = context.input(1);
  const Dims dims = TUTTI_TRY(ir::broadcast(a.dims(), b.dims()));
  Tensor& out = *TUTTI_TRY(context.output(0, DType::kString, dims));
  auto to = out.mutable_string_data();
  StridedWalk::broadcast(dims, {&a.dims(), &b.dims()})
      .for_each_run([&](int64_t at, int64_t count, const int64_t* offset, const int64_t* stride) {
        for (int64_t k = 0; k < count; ++k)
          to[static_cast<size_t>(at + k)] = a.string_data()[static_cast<size_t>(offset[0] + k * stride[0])] +
                                            b.string_data()[static_cast<size_t>(offset[1] + k * stride[1])];
      });
  return ok_status();
}

// --- StringSplit

Status infer_split(InferContext& context) {
  TUTTI_TRY(expect_strings(context, 0));
  std::optional<Shape> shape = context.shape(0);
  context.set_output(1, ValueType::tensor(DType::kInt64, shape));
  if (shape) shape->push_back(context.fresh_dim("pieces"));
  context.set_output(0, ValueType::tensor(DType::kString, std::move(shape)));
  return ok_status();
}

constexpr std::string_view kSpace = " \t\n\v\f\r";

std::vector<std::string> split_at_space(std::string_view text, size_t limit) {
  std::vector<std::string> pieces;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
    if (text.empty()) return pieces;
    const size_t end = pieces.size() < limit ? text.find_first_of(kSpace) : std::string_view::npos;
    if (end == std::string_view::npos) {
      text.remove_suffix(text.size() - text.find_last_not_of(kSpace) - 1);
      pieces.emplace_back(text);
      return pieces;
    }
    pieces.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

std::vector<std::string> split_at(std::string_view text, std::string_view delimiter, size_t limit) {
  if (delimiter.empty()) return split_at_space(text, limit);
  std::vector<std::string> pieces;
  for (size_t at; pieces.size() < limit && (at = text.find(delimiter)) != std::string_view::npos;
       text.remove_prefix(at + delimiter.size()))
    pieces.emplace_back(text.substr(0, at));
  pieces.emplace_back(text);
  return pieces;
}

Status eval_split(EvalContext& context) {
  const auto& attrs = context.attrs<StringSplitAttrs>();
  const Tensor& x = context.input(0);
  const size_t limit = attrs.maxsplit && *attrs.maxsplit >= 0 ? static_cast<size_t>(*attrs.maxsplit) : SIZE_MAX;
  std::vector<std::vector<std::string>> pieces;
  std::vector<int64_t> counts;
  size_t widest = 0;
  for (const std::string& text : x.string_data()) {
    pieces.push_back(split_at(text, attrs.delimiter, limit));
    counts.push_back(static_cast<int64_t>(pieces.back().size()));
    widest = std::max(widest, pieces.back().size());
  }
  Dims dims = x.dims();
  dims.push_back(static_cast<int64_t>(widest));
  Tensor& out = *TUTTI_TRY(context.output(0, DType::kString, dims));
  auto to = out.mutable_string_data();
  for (size_t i = 0; i < pieces.size(); ++i)
    std::move(pieces[i].begin(), pieces[i].end(), to.begin() + static_cast<ptrdiff_t>(i * widest));
  context.set_output(1, Tensor::from<int64_t>(x.dims(), std::span<const int64_t>(counts)));
  return ok_status();
}

// --- StringNormalizer

Status infer_normalizer(InferContext& context) {
  TUTTI_TRY(expect_strings(context, 0));
  std::optional<Shape> shape = context.shape(0);
  if (shape && (shape->empty() || shape->size() > 2))
    return make_error(Code::kInvalidModel, "the input of StringNormalizer is {}, expected [C] or [1,C]",
                      context.input(0).text());
  if (shape && !context.attrs<StringNormalizerAttrs>().stopwords.empty())
    shape->back() = context.fresh_dim("words");
  else if (shape && !(shape->back().is_constant() && !shape->back().is(0)))
    shape->back() = context.fresh_dim("words");
  context.set_output(0, ValueType::tensor(DType::kString, std::move(shape)));
  return ok_status();
}

std::string with_case(const std::string& text, CaseChange change) {
  if (change == CaseChange::kNone) return text;
  std::u32string characters = decode_utf8(text);
  for (char32_t& c : characters) c = change == CaseChange::kLower ? to_lower(c) : to_upper(c);
  return encode_utf8(characters);
}

Status eval_normalizer(EvalContext& context) {
  const auto& attrs = context.attrs<StringNormalizerAttrs>();
  const Tensor& x = context.input(0);
  if (x.rank() < 1 || x.rank() > 2 || (x.rank() == 2 && x.dim(0) != 1))
    return make_error(Code::kInvalidInput, "the input of StringNormalizer is {}, expected [C] or [1,C]", x.type_text());
  const auto key = [&](const std::string& word) {
    return attrs.is_case_sensitive ? word : with_case(word, CaseChange::kLower);
  };
  std::vector<std::string> stops, kept;
  for (const std::string& word : attrs.stopwords) stops.push_back(key(word));
  std::sort(stops.begin(), stops.end());
  for (const std::string& word : x.string_data())
    if (!std::binary_search(stops.begin(), stops.end(), key(word)))
      kept.push_back(with_case(word, attrs.case_change_action));
  if (kept.empty()) kept.emplace_back();
  const auto count = static_cast<int64_t>(kept.size());
  context.set_output(0, Tensor::strings(x.rank() == 2 ? Dims{1, count} : Dims{count}, std::move(kept)));
  return ok_status();
}

// --- RegexFullMatch

Status infer_regex(InferContext& context) {
  TUTTI_TRY(expect_strings(context, 0));
  (void)TUTTI_TRY(Regex::compile(context.attrs<RegexFullMatchAttrs>().pattern).with_context("attribute pattern"));
  context.set_output(0, ValueType::tensor(DType::kBool, context.shape(0)));
  return ok_status();
}

Status eval_regex(EvalContext& context) {
  const Regex regex =
      TUTTI_TRY(Regex::compile(context.attrs<RegexFullMatchAttrs>().pattern).with_context("attribute pattern"));
  const Tensor& x = context.input(0);
  Tensor& out = *TUTTI_TRY(context.output(0, DType::kBool, x.dims()));
  for (size_t i = 0; i < x.string_data().size(); ++i)
    out.mutable_data<bool>()[i] = regex.full_match(x.string_data()[i]);
  return ok_status();
}

}  // namespace

using ir::Tolerance;

const ir::OpDef kStringConcat{.name = "StringConcat",
                              .min_inputs = 2,
                              .max_inputs = 2,
                              .infer = infer_concat,
                              .eval = eval_concat,
                              .tolerance = Tolerance::kExact};
const ir::OpDef kStringSplit{.name = "StringSplit",
                             .min_inputs = 1,
                             .max_inputs = 1,
                             .max_outputs = 2,
                             .make_attrs = ir::make_attrs<StringSplitAttrs>,
                             .infer = infer_split,
                             .eval = eval_split,
                             .tolerance = Tolerance::kExact};
const ir::OpDef kStringNormalizer{.name = "StringNormalizer",
                                  .min_inputs = 1,
                                  .max_inputs = 1,
                                  .make_attrs = ir::make_attrs<StringNormalizerAttrs>,
                                  .infer = infer_normalizer,
                                  .eval = eval_normalizer,
                                  .tolerance = Tolerance::kExact};
const ir::OpDef kRegexFullMatch{.name = "RegexFullMatch",
                                .min_inputs = 1,
                                .max_inputs = 1,
                                .make_attrs = ir::make_attrs<RegexFullMatchAttrs>,
                                .infer = infer_regex,
                                .eval = eval_regex,
                                .tolerance = Tolerance::kExact};

}  // namespace tutti::ops
