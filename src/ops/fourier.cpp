#include "ops/fourier.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace tutti::ops {
namespace {

using Line = std::vector<std::complex<double>>;

void power_of_two(Line& a, int sign) {
  const size_t n = a.size();
  for (size_t i = 1, j = 0; i < n; ++i) {
    size_t bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(a[i], a[j]);
  }
  Line roots(n / 2);
  for (size_t i = 0; i < n / 2; ++i)
    roots[i] = std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n));
  for (size_t length = 2; length <= n; length <<= 1)
    for (size_t start = 0; start < n; start += length)
      for (size_t k = 0; k < length / 2; ++k) {
        const auto even = a[start + k], odd = a[start + k + length / 2] * roots[k * (n / length)];
        a[start + k] = even + odd;
        a[start + k + length / 2] = even - odd;
      }
}

// Bluestein: k*n = (k^2 + n^2 - (k-n)^2) / 2 turns the sum into a convolution, which is done at a power of two.
Line chirp(const Line& in, int sign) {
  const size_t n = in.size(), padded = std::bit_ceil(2 * n - 1);
  Line factor(n), a(padded), b(padded);
  for (size_t i = 0; i < n; ++i) {
    const auto square =
        static_cast<double>(static_cast<uint64_t>(i) * i % (2 * n));  // exact, so that the angle stays small
    factor[i] = std::polar(1.0, sign * std::numbers::pi * square / static_cast<double>(n));
    a[i] = in[i] * factor[i];
    b[i] = std::conj(factor[i]);
    if (i > 0) b[padded - i] = b[i];
  }
  power_of_two(a, 1);
  power_of_two(b, 1);
  for (size_t i = 0; i < padded; ++i) a[i] *= b[i];
  power_of_two(a, -1);
  Line out(n);
  for (size_t i = 0; i < n; ++i) out[i] = a[i] / static_cast<double>(padded) * factor[i];
  return out;
}

}  // namespace

Line fourier(Line in, int sign) {
  if (in.size() < 2) return in;
  if (!std::has_single_bit(in.size())) return chirp(in, sign);
  power_of_two(in, sign);
  return in;
}

}  // namespace tutti::ops
