#pragma once

// Branch-free exp and normal distribution that compilers turn into vector code; every element is computed the
// same way, wherever it stands in a row. f64 takes the C library's. Internal: not installed.

#include <bit>
#include <cmath>
#include <cstdint>

namespace tessera {

/// e^x to about 1 unit in the last place for x in [-87, 88]; 0 below; saturates at e^88 above.
inline float fast_exp(float x) {
  // x = n ln2 + r, |r| <= ln2/2: 2^n by its exponent bits, e^r by its Taylor series to r^7 (error 5e-9).
  const float clamped = x < -87.0f ? -87.0f : x > 88.0f ? 88.0f : x;
  const float shifted =
      clamped * 1.44269504f + 12582912.0f;  // 1.5 * 2^23: the integer ends up in the low bits
  const float n = shifted - 12582912.0f;
  const float r = (clamped - n * 0.693145752f) - n * 1.42860677e-6f;
  float e = 1.0f / 5040;
  e = e * r + 1.0f / 720;
  e = e * r + 1.0f / 120;
  e = e * r + 1.0f / 24;
  e = e * r + 1.0f / 6;
  e = e * r + 0.5f;
  e = e * r * r + r + 1.0f;
  const std::int32_t exponent = (static_cast<std::int32_t>(n) + 127) << 23;
  const float y = e * std::bit_cast<float>(exponent);
  return x < -87.0f ? 0.0f : y;
}
inline double fast_exp(double x) { return std::exp(x); }

/// The standard normal distribution function at x, given gauss = exp(-x^2 / 2), which its callers need too.
/// Error 2e-7 of the result in both tails: erfc(z) exp(z^2) is smooth in t = 1 / (1 + 0.4 z), so a polynomial
/// in t fits it (least squares, largest absolute error of the fit in erf 6e-10; the form is Abramowitz &
/// Stegun 7.1.26's).
inline float fast_normal_cdf(float x, float gauss) {
  const float t = 1.0f / (1.0f + 0.28284271f * std::fabs(x));
  float p = 0.039066754f;
  p = p * t - 0.20598194f;
  p = p * t + 0.35856909f;
  p = p * t - 0.20340706f;
  p = p * t + 0.21375611f;
  p = p * t + 0.066868268f;
  p = p * t + 0.11867639f;
  p = p * t + 0.112452395f;
  const float tail = p * t * gauss;
  return x < 0.0f ? tail : 1.0f - tail;
}
inline double fast_normal_cdf(double x, double) { return 0.5 * std::erfc(-x * 0.70710678118654752440); }

}  // namespace tessera
