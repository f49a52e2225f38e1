#include "conformance/closeness.h"

#include <algorithm>
#include <cmath>

namespace tutti::conformance {
namespace {

using ir::Datum;
using ir::DType;
using ir::Tensor;

struct Limits {
  double relative = 1e-3, absolute = 1e-7;
};

Limits limits_for(DType dtype) {
  switch (dtype) {
    case DType::kFloat16: return {2e-3, 1e-4};
    case DType::kBFloat16: return {1e-2, 1e-3};
    default: return {};
  }
}

bool close(double actual, double expected, Limits limits) {
  if (std::isnan(actual) || std::isnan(expected)) return std::isnan(actual) == std::isnan(expected);
  if (std::isinf(actual) || std::isinf(expected)) return actual == expected;
  return std::abs(actual - expected) <= limits.absolute + limits.relative * std::abs(expected);
}

double magnitude(const Tensor& tensor) {
  double largest = 0;
  for (int64_t i = 0; i < tensor.size(); ++i)
    if (const double value = std::abs(tensor.get_double(i)); std::isfinite(value)) largest = std::max(largest, value);
  return largest;
}

Status check_numbers(const Tensor& actual, const Tensor& expected) {
  Limits limits = limits_for(expected.dtype());
  limits.absolute *= std::max(1.0, magnitude(expected));
  for (int64_t i = 0; i < expected.size(); ++i)
    if (const double a = actual.get_double(i), e = expected.get_double(i); !close(a, e, limits))
      return make_error(Code::kVerification, "element {} of {} is {}, expected {}", i, expected.type_text(), a, e);
  return ok_status();
}

Status check_exact(const Tensor& actual, const Tensor& expected) {
  for (int64_t i = 0; i < expected.size(); ++i)
    if (const int64_t a = actual.get_int(i), e = expected.get_int(i); a != e)
      return make_error(Code::kVerification, "element {} of {} is {}, expected {}", i, expected.type_text(), a, e);
  return ok_status();
}

Status check_strings(const Tensor& actual, const Tensor& expected) {
  for (size_t i = 0; i < expected.string_data().size(); ++i)
    if (actual.string_data()[i] != expected.string_data()[i])
      return make_error(Code::kVerification, "element {} is '{}', expected '{}'", i, actual.string_data()[i],
                        expected.string_data()[i]);
  return ok_status();
}

// A complex tensor as pairs of real numbers.
Tensor as_pairs(const Tensor& tensor) {
  const DType part = tensor.dtype() == DType::kComplex64 ? DType::kFloat32 : DType::kFloat64;
  return Tensor::view(part, {tensor.size() * 2}, tensor.raw(), nullptr);
}

Status check_tensors(const Tensor& actual, const Tensor& expected) {
  if (actual.dtype() != expected.dtype() || actual.dims() != expected.dims())
    return make_error(Code::kVerification, "found {}, expected {}", actual.type_text(), expected.type_text());
  if (expected.dtype() == DType::kString) return check_strings(actual, expected);
  if (ir::is_complex(expected.dtype())) return check_numbers(as_pairs(actual), as_pairs(expected));
  return ir::is_floating(expected.dtype()) ? check_numbers(actual, expected) : check_exact(actual, expected);
}

}  // namespace

Status check_close(const Datum& actual, const Datum& expected) {
  if (actual.empty() != expected.empty() || actual.is_tensor() != expected.is_tensor())
    return Error(Code::kVerification, "found and expected value are of different kinds (nothing, tensor, sequence)");
  if (expected.is_tensor()) return check_tensors(actual.tensor(), expected.tensor());
  if (!expected.is_sequence()) return ok_status();
  if (actual.sequence().size() != expected.sequence().size())
    return make_error(Code::kVerification, "found {} tensors, expected {}", actual.sequence().size(),
                      expected.sequence().size());
  for (size_t i = 0; i < expected.sequence().size(); ++i)
    TUTTI_TRY(check_tensors(actual.sequence()[i], expected.sequence()[i])
                  .with_context(fmt::format("tensor {} of the sequence", i)));
  return ok_status();
}

}  // namespace tutti::conformance
