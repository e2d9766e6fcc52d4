#pragma once

// What tests of ops and models share: reproducible tensors, error measures, backward against differences.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/autograd.h"
#include "tensor/random.h"

namespace tessera::testing {

/// Normal numbers, drawn in f64 and rounded, so both dtypes get the same; another name gives other numbers.
inline Tensor normal(const Shape& shape, std::string_view name, double scale = 1, DType dtype = DType::f64) {
  Tensor result(shape, dtype);
  const RandomStream stream(7, name);
  dispatch(dtype, [&]<class T>() {
    for (Index i = 0; i < shape.numel(); ++i) result.data<T>()[i] = static_cast<T>(scale * stream.normal(i));
  });
  return result;
}

/// An i32 vector, or another shape with the same elements.
inline Tensor ints(const std::vector<std::int32_t>& values) {
  return Tensor::from<std::int32_t>({static_cast<Index>(values.size())}, values);
}

/// A copy of x in another dtype, outside any graph.
inline Tensor to(DType dtype, const Tensor& x) {
  Tensor result(x.shape(), dtype);
  dispatch(x.dtype(), [&]<class From>() {
    dispatch(dtype, [&]<class To>() {
      std::ranges::transform(x.span<From>(), result.data<To>(),
                             [](From value) { return static_cast<To>(value); });
    });
  });
  return result;
}

inline double max_abs(const Tensor& x) {
  const Tensor wide = to(DType::f64, x);
  double result = 0;
  for (const double value : wide.span<double>())
    result = std::isnan(value) ? value : std::max(result, std::abs(value));
  return result;
}

/// max|a - b| / max|b|, where 0 / 0 is 0: the error measure of DESIGN.md, section 9. Infinite for a NaN
/// and for shapes that differ.
inline double relative_error(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined() || a.shape() != b.shape()) return std::numeric_limits<double>::infinity();
  const Tensor difference = to(DType::f64, a), reference = to(DType::f64, b);
  for (Index i = 0; i < a.numel(); ++i) {
    double& value = difference.data<double>()[i];
    value = std::abs(value - reference.data<double>()[i]);
    if (!std::isfinite(value)) return std::numeric_limits<double>::infinity();
  }
  const double worst = max_abs(difference);
  return worst == 0 ? 0 : worst / max_abs(reference);
}

inline bool bit_equal(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  return a.numel() == 0 || dispatch(a.dtype(), [&]<class T>() {
           return std::memcmp(a.data<T>(), b.data<T>(), static_cast<std::size_t>(a.bytes())) == 0;
         });
}

/// The gradient of x, zero if nothing was added.
inline Tensor grad_or_zero(const Tensor& x) {
  return x.grad().defined() ? x.grad() : Tensor::zeros(x.shape(), x.dtype());
}

/// The text of the std::invalid_argument that `body` throws; "" if it throws none.
inline std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

using Function = std::function<Tensor(const std::vector<Tensor>& inputs)>;

/// Differences over four points are wrong by h^4/30 = 7e-18 times the fifth derivative, and by the rounding
/// of the sum that is differenced, 1.5 * 2^-53 / h = 1.4e-12 times it; the bound takes it as 100. The step is
/// small for deep functions, whose fifth derivatives reach 10^6; two points would be wrong by 2e-8 there.
inline constexpr double kStep = 0x1p-13;
inline constexpr double kGradcheckBound = 100 * 1.5 * 0x1p-53 / kStep;

/// Fixed weights that make one number of a function's output, so that every element's gradient counts.
inline Tensor output_weights(const Tensor& y) { return normal(y.shape(), "output weights", 1, y.dtype()); }

/// d sum / d element by central differences over four points; the element is changed for a moment.
inline double difference(double& element, const std::function<double()>& sum) {
  const double before = element;
  const auto at = [&](double steps) {
    element = before + steps * kStep;
    return sum();
  };
  const double near = at(1) - at(-1), far = at(2) - at(-2);
  element = before;
  return (8 * near - far) / (12 * kStep);
}

/// The relative error of backward against differences of sum(weights * f(inputs)), the worst of the inputs,
/// which are f64 leaves without a gradient so far. f may ignore its argument and use the leaves as a model
/// does.
/// @param every checks every so-many-th element only, and the one with the largest gradient, against which
///        errors count.
inline double gradient_error(const Function& f, const std::vector<Tensor>& inputs, Index every = 1) {
  const Tensor y = f(inputs), w = output_weights(y);
  backward(y, w);
  const auto sum = [&] {
    const NoGrad no_grad;
    const Tensor moved = f(inputs);
    return std::inner_product(w.span<double>().begin(), w.span<double>().end(), moved.data<double>(), 0.0);
  };

  const auto abs = [](double value) { return std::abs(value); };
  double worst = 0;
  for (const Tensor& x : inputs) {
    const Tensor dx = grad_or_zero(x);
    std::vector<double> actual, expected;
    const Index largest = std::ranges::max_element(dx.span<double>(), {}, abs) - dx.span<double>().begin();
    for (Index i = 0; i < x.numel(); ++i) {
      if (i % every != 0 && i != largest) continue;
      actual.push_back(dx.data<double>()[i]);
      expected.push_back(difference(x.data<double>()[i], sum));
    }
    const auto tensor = [](const std::vector<double>& v) { return Tensor::from<double>({std::ssize(v)}, v); };
    worst = std::max(worst, relative_error(tensor(actual), tensor(expected)));
  }
  return worst;
}

/// Leaves of these shapes that want a gradient, with the same normal numbers for either dtype.
inline std::vector<Tensor> leaves(const std::vector<Shape>& shapes, DType dtype = DType::f64,
                                  double scale = 1) {
  std::vector<Tensor> result;
  for (const Shape& shape : shapes) {
    Tensor x = to(dtype, normal(shape, "input " + std::to_string(result.size()), scale, DType::f32));
    result.push_back(x.require_grad());
  }
  return result;
}

}  // namespace tessera::testing
