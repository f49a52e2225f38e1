// The discrete Fourier transform of one line, in double precision.
#pragma once

#include <complex>
#include <vector>

namespace tutti::ops {

// sum over n of in[n] * exp(sign * 2 pi i k n / N), not scaled. O(N log N) for every N (chirp-z where N is not a power
// of two).
std::vector<std::complex<double>> fourier(std::vector<std::complex<double>> in, int sign);

}  // namespace tutti::ops
