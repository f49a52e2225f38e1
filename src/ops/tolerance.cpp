#include "ops/tolerance.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/real_reader.h"

namespace tutti::ops {
namespace {

using ir::DType;
using ir::Tensor;
using ir::Tolerance;

// Half a unit in the last place, relative: the error of one rounding.
double unit_roundoff(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
    case DType::kComplex128: return 0x1p-53;
    case DType::kFloat32:
    case DType::kComplex64: return 0x1p-24;
    case DType::kFloat16: return 0x1p-11;
    case DType::kBFloat16: return 0x1p-8;
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E4M3FNUZ: return 0x1p-4;
    case DType::kFloat8E5M2:
    case DType::kFloat8E5M2FNUZ: return 0x1p-3;
    case DType::kFloat4E2M1:
    case DType::kFloat8E8M0: return 0x1p-2;
    default: return 0;
  }
}

Comparison failed(std::string text) {
  const double infinity = std::numeric_limits<double>::infinity();
  return {.pass = false,
          .max_absolute_error = infinity,
          .max_relative_error = infinity,
          .failures = 1,
          .text = std::move(text)};
}

double largest_finite(const RealReader& read) {
  double scale = 1e-30;
  for (int64_t i = 0; i < read.size(); ++i) {
    const double magnitude = std::fabs(read(i));
    if (std::isfinite(magnitude)) scale = std::max(scale, magnitude);
  }
  return scale;
}

void note(Comparison& out, int64_t index, double actual, double expected, double limit) {
  if (actual == expected || (std::isnan(actual) && std::isnan(expected))) return;
  double error = std::fabs(actual - expected);
  if (!std::isfinite(error)) error = std::numeric_limits<double>::infinity();
  out.max_absolute_error = std::max(out.max_absolute_error, error);
  const double magnitude = std::max(std::fabs(expected), 1e-30);
  if (error > out.max_relative_error * magnitude) out.max_relative_error = error / magnitude;
  if (error <= limit) return;
  if (out.failures++ == 0) {
    out.pass = false;
    out.first_failure = index;
    out.text = fmt::format("element {} is {}; expected {} within {:.3g}", index, actual, expected, limit);
  }
}

Comparison compare_exact_words(const Tensor& actual, const Tensor& reference) {
  Comparison out;
  for (int64_t i = 0; i < actual.size(); ++i) {
    const bool text = actual.dtype() == DType::kString;
    const auto at = static_cast<size_t>(i);
    const bool equal =
        text ? actual.string_data()[at] == reference.string_data()[at] : actual.get_int(i) == reference.get_int(i);
    if (equal || out.failures++ > 0) continue;
    out.pass = false;
    out.first_failure = i;
    out.text = text ? fmt::format("element {} is '{}'; expected '{}'", i, actual.string_data()[at],
                                  reference.string_data()[at])
                    : fmt::format("element {} is {}; expected {}", i, actual.get_int(i), reference.get_int(i));
  }
  if (!out.pass) out.max_absolute_error = out.max_relative_error = std::numeric_limits<double>::infinity();
  if (out.failures > 1) out.text += fmt::format(", and {} more of {} differ", out.failures - 1, actual.size());
  return out;
}

}  // namespace

Bounds bounds(Tolerance tolerance, DType dtype) {
  if (!ir::is_floating(dtype) && !ir::is_complex(dtype)) return {.absolute = 0, .relative = 0};
  const double unit = unit_roundoff(dtype);
  switch (tolerance) {
    case Tolerance::kExact: return {};
    // Sums in another order: the error grows with the number of terms, which the output's scale reflects.
    case Tolerance::kRounding:
      return {.absolute = std::min(0.25, 170 * unit / (unit > 0x1p-20 ? 40 : 1)), .relative = 4 * unit};
    // Approximated functions, and factors that were folded or rounded once more on the way.
    case Tolerance::kApproximate:
      return {.absolute = std::min(0.5, 1700 * unit / (unit > 0x1p-20 ? 100 : 1)), .relative = 64 * unit};
  }
  return {};
}

Comparison compare_tensors(const Tensor& actual, const Tensor& reference, const Bounds& limits) {
  if (actual.dtype() != reference.dtype() || actual.dims() != reference.dims())
    return failed(fmt::format("the result is {}; expected {}", actual.type_text(), reference.type_text()));
  if (identical(actual, reference)) return {};
  const bool inexact = ir::is_floating(actual.dtype()) || ir::is_complex(actual.dtype());
  if (!inexact && limits.absolute == 0) return compare_exact_words(actual, reference);
  const RealReader got(actual), want(reference);
  const double scale = inexact ? largest_finite(want) : 1;
  Comparison out;
  for (int64_t i = 0; i < got.size(); ++i) {
    const double expected = want(i);
    const double relative = std::isfinite(expected) ? limits.relative * std::fabs(expected) : 0;
    note(out, i, got(i), expected, limits.absolute * scale + relative);
  }
  if (out.failures > 1) out.text += fmt::format(", and {} more of {} differ", out.failures - 1, got.size());
  return out;
}

Comparison compare_tensors(const Tensor& actual, const Tensor& reference, Tolerance tolerance) {
  Bounds limits = bounds(tolerance, reference.dtype());
  if (tolerance == Tolerance::kApproximate && ir::is_integer(reference.dtype())) limits.absolute = 1;
  return compare_tensors(actual, reference, limits);
}

Comparison compare_data(const ir::Datum& actual, const ir::Datum& reference, Tolerance tolerance) {
  if (actual.is_tensor() && reference.is_tensor())
    return compare_tensors(actual.tensor(), reference.tensor(), tolerance);
  if (actual.empty() && reference.empty()) return {};
  if (!actual.is_sequence() || !reference.is_sequence()) return failed("one is a sequence or empty, the other is not");
  if (actual.sequence().size() != reference.sequence().size())
    return failed(fmt::format("the sequence has {} elements; expected {}", actual.sequence().size(),
                              reference.sequence().size()));
  Comparison worst;
  for (size_t i = 0; i < actual.sequence().size(); ++i) {
    Comparison one = compare_tensors(actual.sequence()[i], reference.sequence()[i], tolerance);
    if (!one.pass) one.text = fmt::format("sequence element {}: {}", i, one.text);
    if (worst.pass && (!one.pass || one.max_absolute_error > worst.max_absolute_error)) worst = std::move(one);
  }
  return worst;
}

}  // namespace tutti::ops
