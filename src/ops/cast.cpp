#include "ops/cast.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "ops/elements.h"
#include "ops/infer_common.h"

namespace tutti::ops {
namespace {

using ir::DType;
using ir::EvalContext;
using ir::InferContext;
using ir::OpDef;
using ir::Tensor;

bool equals_ignoring_case(std::string_view a, std::string_view upper) {
  return std::equal(a.begin(), a.end(), upper.begin(), upper.end(),
                    [](char x, char y) { return (x >= 'a' && x <= 'z' ? static_cast<char>(x - 32) : x) == y; });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t' || text.front() == '\n')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\n')) text.remove_suffix(1);
  return text;
}

template <class T>
Result<T> parse_number(std::string_view whole) {
  std::string_view text = trimmed(whole);
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  if constexpr (std::is_floating_point_v<T>) {
    if (equals_ignoring_case(text, "INF")) return std::numeric_limits<T>::infinity();
    if (equals_ignoring_case(text, "-INF")) return -std::numeric_limits<T>::infinity();
    if (equals_ignoring_case(text, "NAN")) return std::numeric_limits<T>::quiet_NaN();
    if (error == std::errc::result_out_of_range && end == text.data() + text.size())  // "1e400", "1e-400"
      return static_cast<T>(std::strtod(std::string(text).c_str(), nullptr));
  }
  return make_error(Code::kInvalidInput, "cannot cast the string '{}' to a number", whole.substr(0, 60));
}

Status strings_to_numbers(const Tensor& in, Tensor& out) {
  for (int64_t i = 0; i < in.size(); ++i) {
    const std::string& text = in.string_data()[static_cast<size_t>(i)];
    if (ir::is_integer(out.dtype())) {
      if (const auto exact = parse_number<int64_t>(text); exact.ok()) {
        out.set_int(i, *exact);
        continue;
      }
    }
    out.set_double(i, TUTTI_TRY(parse_number<double>(text)));
  }
  return ok_status();
}

// The shortest text that reads back as the same number, as numpy prints it in a string array.
template <class T>
std::string float_text(T value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "INF" : "-INF";
  std::array<char, 64> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  (void)error;  // 64 characters hold every shortest form
  std::string text(buffer.data(), end);
  const size_t exponent = text.find('e');
  if (exponent == std::string::npos && text.find('.') == std::string::npos) text += ".0";
  return text;
}

std::string number_text(const Tensor& in, int64_t i) {
  if (in.dtype() == DType::kBool) return in.get_int(i) != 0 ? "True" : "False";
  if (in.dtype() == DType::kUInt64) return std::to_string(static_cast<uint64_t>(in.get_int(i)));
  if (ir::is_integer(in.dtype())) return std::to_string(in.get_int(i));
  if (in.dtype() == DType::kFloat64) return float_text(in.get_double(i));
  return float_text(static_cast<float>(in.get_double(i)));
}

const MiniFloatFormat* small_format(DType dtype) {
  switch (dtype) {
    case DType::kFloat8E4M3FN: return &kFloat8E4M3FN;
    case DType::kFloat8E4M3FNUZ: return &kFloat8E4M3FNUZ;
    case DType::kFloat8E5M2: return &kFloat8E5M2;
    case DType::kFloat8E5M2FNUZ: return &kFloat8E5M2FNUZ;
    default: return nullptr;
  }
}

E8m0Rounding e8m0_rounding(CastRound round) {
  return round == CastRound::kUp     ? E8m0Rounding::kUp
         : round == CastRound::kDown ? E8m0Rounding::kDown
                                     : E8m0Rounding::kNearest;
}

// Complex elements as (real, imaginary); real ones have imaginary part 0.
std::pair<double, double> complex_at(const Tensor& t, int64_t i) {
  if (t.dtype() == DType::kComplex64)
    return {static_cast<const float*>(t.raw())[2 * i], static_cast<const float*>(t.raw())[2 * i + 1]};
  if (t.dtype() == DType::kComplex128)
    return {static_cast<const double*>(t.raw())[2 * i], static_cast<const double*>(t.raw())[2 * i + 1]};
  return {t.get_double(i), 0.0};
}

void cast_complex(const Tensor& in, Tensor& out) {
  for (int64_t i = 0; i < in.size(); ++i) {
    const auto [real, imaginary] = complex_at(in, i);
    if (out.dtype() == DType::kComplex64) {
      static_cast<float*>(out.mutable_raw())[2 * i] = static_cast<float>(real);
      static_cast<float*>(out.mutable_raw())[2 * i + 1] = static_cast<float>(imaginary);
    } else if (out.dtype() == DType::kComplex128) {
      static_cast<double*>(out.mutable_raw())[2 * i] = real;
      static_cast<double*>(out.mutable_raw())[2 * i + 1] = imaginary;
    } else {
      out.set_double(i, real);
    }
  }
}

void cast_numbers(const Tensor& in, Tensor& out, const CastAttrs& attrs) {
  const MiniFloatFormat* format = small_format(out.dtype());
  auto* bytes = static_cast<uint8_t*>(out.mutable_raw());
  if (format != nullptr)
    for (int64_t i = 0; i < in.size(); ++i)
      bytes[i] = float_to_mini(*format, static_cast<float>(in.get_double(i)), attrs.saturate);
  else if (out.dtype() == DType::kFloat8E8M0)
    for (int64_t i = 0; i < in.size(); ++i)
      bytes[i] = float_to_e8m0(static_cast<float>(in.get_double(i)), attrs.saturate, e8m0_rounding(attrs.round_mode));
  else {
    const bool integers = !ir::is_floating(in.dtype()) && !ir::is_floating(out.dtype());
    std::array<int64_t, kBlock> whole;
    std::array<double, kBlock> real;
    for (int64_t begin = 0; begin < in.size(); begin += kBlock) {
      const int64_t count = std::min(kBlock, in.size() - begin);
      if (integers)
        load_block(in, begin, 1, count, whole.data()), store_block(out, begin, count, whole.data());
      else
        load_block(in, begin, 1, count, real.data()), store_block(out, begin, count, real.data());
    }
  }
}

// int64 -> float32 through double would round twice.
bool is_wide_to_single(DType from, DType to) {
  return (from == DType::kInt64 || from == DType::kUInt64) && ir::is_floating(to) && to != DType::kFloat64;
}

void cast_wide_to_single(const Tensor& in, Tensor& out) {
  for (int64_t i = 0; i < in.size(); ++i) {
    const int64_t bits = in.get_int(i);
    out.set_double(
        i, in.dtype() == DType::kUInt64 ? static_cast<float>(static_cast<uint64_t>(bits)) : static_cast<float>(bits));
  }
}

Status infer_cast_to(InferContext& ctx, DType to) {
  TUTTI_TRY(expect_tensor(ctx, 0));
  ctx.set_output(0, ir::ValueType::tensor(to, ctx.shape(0)));
  if (!is_int32_or_int64(ctx.dtype(0)) && ctx.dtype(0) != DType::kBool) return ok_status();
  if (auto value = ctx.dims_value(0); value && is_int32_or_int64(to)) ctx.set_dims_value(0, *std::move(value));
  if (auto value = ctx.ints_value(0); value && to == DType::kBool) {
    std::vector<ir::Dim> bits;
    for (int64_t v : *value) bits.emplace_back(v != 0 ? 1 : 0);
    ctx.set_dims_value(0, std::move(bits));
  }
  return ok_status();
}

Status infer_cast(InferContext& ctx) {
  const DType to = ctx.attrs<CastAttrs>().to;
  if (to == DType::kUndefined)
    return make_error(Code::kInvalidModel, "attribute 'to' is undefined; expected an element type");
  return infer_cast_to(ctx, to);
}

Status infer_cast_like(InferContext& ctx) {
  TUTTI_TRY(expect_tensor(ctx, 1));
  return infer_cast_to(ctx, ctx.dtype(1));
}

Status eval_cast(EvalContext& ctx) {
  const auto& attrs = ctx.attrs<CastAttrs>();
  if (ctx.input(0).dtype() == attrs.to) {
    ctx.set_output(0, ctx.datum(0));
    return ok_status();
  }
  return cast_tensor(ctx.input(0), *TUTTI_TRY(ctx.output(0, attrs.to, ctx.input(0).dims())), attrs);
}

Status eval_cast_like(EvalContext& ctx) {
  CastAttrs attrs;
  attrs.to = ctx.input(1).dtype();
  attrs.saturate = ctx.attrs<CastLikeAttrs>().saturate;
  attrs.round_mode = ctx.attrs<CastLikeAttrs>().round_mode;
  return cast_tensor(ctx.input(0), *TUTTI_TRY(ctx.output(0, attrs.to, ctx.input(0).dims())), attrs);
}

Status infer_bit_cast(InferContext& ctx) {
  TUTTI_TRY(expect_tensor(ctx, 0));
  const DType from = ctx.dtype(0), to = ctx.attrs<BitCastAttrs>().to;
  if (ir::dtype_bits(from) == 0 || ir::dtype_bits(from) != ir::dtype_bits(to))
    return make_error(Code::kInvalidModel, "cannot reinterpret {} ({} bits) as {} ({} bits); expected equal widths",
                      ir::dtype_name(from), ir::dtype_bits(from), ir::dtype_name(to), ir::dtype_bits(to));
  ctx.set_output(0, ir::ValueType::tensor(to, ctx.shape(0)));
  return ok_status();
}

Status eval_bit_cast(EvalContext& ctx) {
  Tensor* out = TUTTI_TRY(ctx.output(0, ctx.attrs<BitCastAttrs>().to, ctx.input(0).dims()));
  if (out->size_bytes() > 0) std::memcpy(out->mutable_raw(), ctx.input(0).raw(), out->size_bytes());
  return ok_status();
}

}  // namespace

Status cast_tensor(const Tensor& in, Tensor& out, const CastAttrs& attrs) {
  const bool from_text = in.dtype() == DType::kString, to_text = out.dtype() == DType::kString;
  if (in.dtype() == out.dtype())
    copy_run(out, 0, in, 0, 1, in.size());
  else if (ir::is_complex(in.dtype()) != ir::is_complex(out.dtype()) && (from_text || to_text))
    return make_error(Code::kUnsupported, "cannot cast {} to {}", ir::dtype_name(in.dtype()),
                      ir::dtype_name(out.dtype()));
  else if (from_text)
    return strings_to_numbers(in, out);
  else if (to_text)
    for (int64_t i = 0; i < in.size(); ++i) out.mutable_string_data()[static_cast<size_t>(i)] = number_text(in, i);
  else if (ir::is_complex(in.dtype()) || ir::is_complex(out.dtype()))
    cast_complex(in, out);
  else if (is_wide_to_single(in.dtype(), out.dtype()) && small_format(out.dtype()) == nullptr &&
           out.dtype() != DType::kFloat8E8M0)
    cast_wide_to_single(in, out);
  else
    cast_numbers(in, out, attrs);
  return ok_status();
}

const OpDef kCast{.name = "Cast",
                  .min_inputs = 1,
                  .max_inputs = 1,
                  .make_attrs = ir::make_attrs<CastAttrs>,
                  .infer = infer_cast,
                  .eval = eval_cast,
                  .tolerance = ir::Tolerance::kExact,
                  .traits = ir::kPointwise};
const OpDef kCastLike{.name = "CastLike",
                      .min_inputs = 2,
                      .max_inputs = 2,
                      .make_attrs = ir::make_attrs<CastLikeAttrs>,
                      .infer = infer_cast_like,
                      .eval = eval_cast_like,
                      .tolerance = ir::Tolerance::kExact};
const OpDef kBitCast{.name = "BitCast",
                     .min_inputs = 1,
                     .max_inputs = 1,
                     .make_attrs = ir::make_attrs<BitCastAttrs>,
                     .infer = infer_bit_cast,
                     .eval = eval_bit_cast,
                     .tolerance = ir::Tolerance::kExact,
                     .traits = ir::kPointwise};

}  // namespace tutti::ops
