#include <numbers>

#include "tensor/autograd.h"
#include "tensor/ops.h"
#include "tensor/rows.h"
#include "tensor/threads.h"
#include "tensor/vec_math.h"

namespace tessera {
namespace {

constexpr Index kPiece =
    1 << 12;  // elements of a loop's piece; small enough that it stays in the first cache

/// body(i) for each element, vectorised; `ns` is about what one costs.
template <class Body>
void for_each_element(Index count, double ns, Body&& body) {
  parallel_rows((count + kPiece - 1) / kPiece, kPiece, ns, [&](Index begin, Index end) {
    const Index last = std::min(count, end * kPiece);
#pragma omp simd
    for (Index i = begin * kPiece; i < last; ++i) body(i);
  });
}

double bytes_of_all(const Tensor& x, int count) { return static_cast<double>(x.bytes()) * count; }

void check_alike(const char* op, const Tensor& x, const Tensor& y) {
  check(x.shape() == y.shape() && x.dtype() == y.dtype(), op, x, " and ", y);
}

/// phi(x) = exp(-x^2 / 2), without the factor that makes it a density.
template <class T>
T gauss(T x) {
  return fast_exp(T(-0.5) * x * x);
}

template <class T>
T sigmoid(T x) {
  return T(1) / (T(1) + fast_exp(-x));
}

void gelu_forward(const Tensor& x, void* out) {
  const OpScope scope({"gelu", 0, bytes_of_all(x, 2)});
  dispatch(x.dtype(), [&]<class T>() {
    const T* x_n = x.data<T>();
    T* y_n = static_cast<T*>(out);
    for_each_element(x.numel(), 0.5,
                     [=](Index i) { y_n[i] = x_n[i] * fast_normal_cdf(x_n[i], gauss(x_n[i])); });
  });
}

void swiglu_forward(const Tensor& gate, const Tensor& up, void* out) {
  const OpScope scope({"swiglu", 0, bytes_of_all(gate, 3)});
  dispatch(gate.dtype(), [&]<class T>() {
    const T *g_n = gate.data<T>(), *u_n = up.data<T>();
    T* y_n = static_cast<T*>(out);
    for_each_element(gate.numel(), 0.5, [=](Index i) { y_n[i] = g_n[i] * sigmoid(g_n[i]) * u_n[i]; });
  });
}

}  // namespace

void add_into(const Tensor& a, const Tensor& b) {
  check_alike("add_into", a, b);
  const OpScope scope({"add", 0, bytes_of_all(a, 3)});
  dispatch(a.dtype(), [&]<class T>() {
    T* a_n = a.data<T>();
    const T* b_n = b.data<T>();
    for_each_element(a.numel(), 0.3, [=](Index i) { a_n[i] += b_n[i]; });
  });
}

Tensor add(Tensor x, const Tensor& y) {
  check_alike("add", x, y);
  Tensor sum = reuse(x);
  {
    const OpScope scope({"add", 0, bytes_of_all(x, 3)});
    dispatch(x.dtype(), [&]<class T>() {
      const T *x_n = x.data<T>(), *y_n = y.data<T>();
      T* sum_n = sum.data<T>();
      for_each_element(x.numel(), 0.3, [=](Index i) { sum_n[i] = x_n[i] + y_n[i]; });
    });
  }
  return record(std::move(sum), {x, y}, [x = x.slot_only(), y = y.slot_only()](Tensor dy) {
    add_grad(x, dy);
    add_grad(y, std::move(dy));
  });
}

Tensor gelu(const Tensor& x) {
  Tensor y(x.shape(), x.dtype());
  dispatch(x.dtype(), [&]<class T>() { gelu_forward(x, y.data<T>()); });
  if (!context().grad_enabled) return y;
  y.storage()->set_recipe([x = x.detach()](void* out) { gelu_forward(x, out); });

  return record(std::move(y), {x}, [x](Tensor dy) {
    // y = x Phi(x), so dx = (Phi(x) + x phi(x)) dy.
    const OpScope scope({"gelu backward", 0, bytes_of_all(x, 3)});
    Tensor dx = reuse(dy);
    dispatch(x.dtype(), [&]<class T>() {
      const T *x_n = x.data<T>(), *dy_n = dy.data<T>();
      T* dx_n = dx.data<T>();
      constexpr T kDensity = std::numbers::inv_sqrtpi_v<T> * std::numbers::sqrt2_v<T> / 2;
      for_each_element(x.numel(), 0.6, [=](Index i) {
        const T e = gauss(x_n[i]);
        dx_n[i] = (fast_normal_cdf(x_n[i], e) + x_n[i] * kDensity * e) * dy_n[i];
      });
    });
    dy = Tensor();
    add_grad(x, std::move(dx));
  });
}

Tensor swiglu(const Tensor& gate, const Tensor& up) {
  check_alike("swiglu", gate, up);
  Tensor y(gate.shape(), gate.dtype());
  dispatch(gate.dtype(), [&]<class T>() { swiglu_forward(gate, up, y.data<T>()); });
  if (!context().grad_enabled) return y;
  y.storage()->set_recipe(
      [gate = gate.detach(), up = up.detach()](void* out) { swiglu_forward(gate, up, out); });

  return record(std::move(y), {gate, up}, [gate, up](Tensor dy) {
    // y = g s(g) u with s' = s (1 - s): dg = s (1 + g (1 - s)) u dy, du = g s dy.
    const OpScope scope({"swiglu backward", 0, bytes_of_all(gate, 5)});
    Tensor dgate(gate.shape(), gate.dtype()), dup = reuse(dy);
    dispatch(gate.dtype(), [&]<class T>() {
      const T *g_n = gate.data<T>(), *u_n = up.data<T>(), *dy_n = dy.data<T>();
      T *dg_n = dgate.data<T>(), *du_n = dup.data<T>();
      for_each_element(gate.numel(), 0.7, [=](Index i) {
        const T s = sigmoid(g_n[i]), dy_i = dy_n[i];
        dg_n[i] = s * (T(1) + g_n[i] * (T(1) - s)) * u_n[i] * dy_i;
        du_n[i] = g_n[i] * s * dy_i;
      });
    });
    dy = Tensor();
    add_grad(gate, std::move(dgate));
    add_grad(up, std::move(dup));
  });
}

}  // namespace tessera
