#include "ops/einsum.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::ops {
namespace {

using ir::Dim;
using ir::EvalContext;
using ir::InferContext;
using ir::Shape;
using ir::Tensor;

constexpr char kEllipsis = '.';

// Index letters of each operand and of the result; '.' stands for the ellipsis.
struct Equation {
  std::vector<std::string> operands;
  std::string result;
};

Error bad_equation(std::string_view equation, std::string_view why) {
  return make_error(Code::kInvalidModel, "equation '{}': {}, expected a form such as ij,jk->ik", equation, why);
}

Result<std::string> parse_letters(std::string_view equation, std::string_view part) {
  std::string letters;
  for (size_t i = 0; i < part.size(); ++i) {
    if (part.substr(i, 3) == "...") {
      if (letters.find(kEllipsis) != std::string::npos)
        return bad_equation(equation, "found two ellipses in one operand");
      letters += kEllipsis;
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(part[i]))) {
      letters += part[i];
    } else {
      return bad_equation(equation, fmt::format("found '{}'", part[i]));
    }
  }
  return letters;
}

std::string implicit_result(const std::vector<std::string>& operands) {
  std::map<char, int> counts;
  for (const std::string& operand : operands)
    for (const char c : operand) ++counts[c];
  std::string result;
  if (counts.contains(kEllipsis)) result += kEllipsis;
  for (const auto& [letter, count] : counts)
    if (letter != kEllipsis && count == 1) result += letter;
  return result;
}

Result<Equation> parse_equation(const std::string& text, int operand_count) {
  std::string equation = text;
  std::erase(equation, ' ');
  const size_t arrow = equation.find("->");
  Equation out;
  std::string_view left = std::string_view(equation).substr(0, arrow);
  for (size_t start = 0; start <= left.size();) {
    const size_t end = std::min(left.find(',', start), left.size());
    out.operands.push_back(TUTTI_TRY(parse_letters(text, left.substr(start, end - start))));
    start = end + 1;
  }
  if (static_cast<int>(out.operands.size()) != operand_count)
    return bad_equation(text, fmt::format("found {} operands for {} inputs", out.operands.size(), operand_count));
  out.result = arrow == std::string::npos
                   ? implicit_result(out.operands)
                   : TUTTI_TRY(parse_letters(text, std::string_view(equation).substr(arrow + 2)));
  for (size_t i = 0; i < out.result.size(); ++i) {
    const char c = out.result[i];
    const bool known = std::any_of(out.operands.begin(), out.operands.end(),
                                   [&](const std::string& operand) { return operand.find(c) != std::string::npos; });
    if (c != kEllipsis && !known) return bad_equation(text, fmt::format("found '{}' in the result only", c));
    if (out.result.find(c, i + 1) != std::string::npos)
      return bad_equation(text, fmt::format("found '{}' twice in the result", c));
  }
  return out;
}

// Operand axes as index names: letters, and numbers counted from the right for what the ellipsis covers.
using Index = int;  // letters are positive, broadcast dimensions negative: -1 is the last
Result<std::vector<Index>> axes_of(const std::string& letters, int64_t rank, std::string_view equation) {
  const auto named = static_cast<int64_t>(letters.size()) - (letters.find(kEllipsis) != std::string::npos ? 1 : 0);
  const bool open = named != static_cast<int64_t>(letters.size());
  if (rank < named || (!open && rank != named))
    return bad_equation(equation, fmt::format("found rank {} for '{}'", rank, letters));
  std::vector<Index> out;
  for (const char c : letters) {
    if (c != kEllipsis)
      out.push_back(c);
    else
      for (int64_t i = rank - named; i > 0; --i) out.push_back(static_cast<Index>(-i));
  }
  return out;
}

std::vector<Index> result_axes(const Equation& equation, const std::vector<std::vector<Index>>& operands) {
  Index broadcast = 0;
  for (const auto& axes : operands)
    for (const Index axis : axes) broadcast = std::min(broadcast, axis);
  std::vector<Index> out;
  for (const char c : equation.result) {
    if (c != kEllipsis)
      out.push_back(c);
    else
      for (Index i = broadcast; i < 0; ++i) out.push_back(i);
  }
  return out;
}

Status infer_einsum(InferContext& context) {
  const std::string& text = context.attrs<EinsumAttrs>().equation;
  const Equation equation = TUTTI_TRY(parse_equation(text, context.input_count()));
  std::map<Index, Dim> sizes;
  std::vector<std::vector<Index>> operands;
  for (int i = 0; i < context.input_count(); ++i) {
    if (!context.shape(i)) {
      context.set_output_unranked(0, context.dtype(0));
      return {};
    }
    const Shape& shape = *context.shape(i);
    operands.push_back(
        TUTTI_TRY(axes_of(equation.operands[static_cast<size_t>(i)], static_cast<int64_t>(shape.size()), text)));
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      auto [known, fresh] = sizes.emplace(operands.back()[axis], shape[axis]);
      if (fresh || shape[axis].is(1)) continue;
      if (Dim::never_equal(known->second, shape[axis]) && !known->second.is(1))
        return bad_equation(
            text, fmt::format("found sizes {} and {} for one index", known->second.text(), shape[axis].text()));
      if (known->second.is(1) || shape[axis].is_constant()) known->second = shape[axis];
    }
  }
  Shape out;
  for (const Index axis : result_axes(equation, operands)) out.push_back(sizes.at(axis));
  context.set_output(0, context.dtype(0), std::move(out));
  return {};
}

// All indices with the result's first, their sizes, and each operand's stride along each.
struct Loops {
  std::vector<int64_t> sizes;
  size_t result_rank = 0;
  std::vector<std::vector<int64_t>> strides;  // [operand][index]
};

Result<Loops> plan_loops(const EvalContext& context, const Equation& equation, const std::string& text) {
  std::vector<std::vector<Index>> operands;
  std::map<Index, int64_t> sizes;
  for (int i = 0; i < context.input_count(); ++i) {
    const Tensor& t = context.input(i);
    operands.push_back(TUTTI_TRY(axes_of(equation.operands[static_cast<size_t>(i)], t.rank(), text)));
    for (int64_t axis = 0; axis < t.rank(); ++axis) {
      auto [known, fresh] = sizes.emplace(operands.back()[static_cast<size_t>(axis)], t.dim(axis));
      if (known->second == 1) known->second = t.dim(axis);
      if (t.dim(axis) != 1 && t.dim(axis) != known->second)
        return bad_equation(text, fmt::format("found sizes {} and {} for one index", known->second, t.dim(axis)));
    }
  }
  std::vector<Index> order = result_axes(equation, operands);
  Loops loops{{}, order.size(), {}};
  for (const auto& [index, size] : sizes)
    if (std::find(order.begin(), order.end(), index) == order.end()) order.push_back(index);
  for (const Index index : order) loops.sizes.push_back(sizes.at(index));
  for (int i = 0; i < context.input_count(); ++i) {
    const Tensor& t = context.input(i);
    const ir::Dims row_major = ir::row_major_strides(t.dims());
    std::vector<int64_t> strides(order.size(), 0);
    for (size_t axis = 0; axis < row_major.size(); ++axis) {
      const auto place = std::find(order.begin(), order.end(), operands[static_cast<size_t>(i)][axis]) - order.begin();
      if (t.dim(static_cast<int64_t>(axis)) != 1)
        strides[static_cast<size_t>(place)] += row_major[axis];  // a repeated letter walks the diagonal
    }
    loops.strides.push_back(std::move(strides));
  }
  return loops;
}

template <class Value, class Get, class Set>
void run_loops(const Loops& loops, size_t operands, int64_t outer, int64_t inner, Get get, Set set) {
  std::vector<int64_t> at(loops.sizes.size(), 0);
  for (int64_t o = 0; o < outer; ++o) {
    Value sum = 0;
    for (int64_t k = 0; k < inner; ++k) {
      int64_t rest = o * inner + k;
      for (size_t d = at.size(); d-- > 0; rest /= loops.sizes[d]) at[d] = rest % loops.sizes[d];
      Value product = 1;
      for (size_t i = 0; i < operands; ++i) {
        int64_t index = 0;
        for (size_t d = 0; d < at.size(); ++d) index += at[d] * loops.strides[i][d];
        product *= get(i, index);
      }
      sum += product;
    }
    set(o, sum);
  }
}

Status eval_einsum(EvalContext& context) {
  const std::string& text = context.attrs<EinsumAttrs>().equation;
  const Equation equation = TUTTI_TRY(parse_equation(text, context.input_count()));
  const Loops loops = TUTTI_TRY(plan_loops(context, equation, text));
  const ir::Dims dims(loops.sizes.begin(), loops.sizes.begin() + static_cast<int64_t>(loops.result_rank));
  Tensor& y = *TUTTI_TRY(context.output(0, context.input(0).dtype(), dims));
  int64_t inner = 1;
  for (size_t d = loops.result_rank; d < loops.sizes.size(); ++d) inner *= loops.sizes[d];
  const auto operands = static_cast<size_t>(context.input_count());
  if (ir::is_integer(y.dtype()))
    run_loops<int64_t>(
        loops, operands, y.size(), inner,
        [&](size_t i, int64_t k) { return context.input(static_cast<int>(i)).get_int(k); },
        [&](int64_t o, int64_t v) { y.set_int(o, v); });
  else
    run_loops<double>(
        loops, operands, y.size(), inner,
        [&](size_t i, int64_t k) { return context.input(static_cast<int>(i)).get_double(k); },
        [&](int64_t o, double v) { y.set_double(o, v); });
  return {};
}

}  // namespace

const ir::OpDef kEinsum{.name = "Einsum",
                        .min_inputs = 1,
                        .max_inputs = ir::kAnyCount,
                        .make_attrs = ir::make_attrs<EinsumAttrs>,
                        .infer = infer_einsum,
                        .eval = eval_einsum};

}  // namespace tutti::ops
