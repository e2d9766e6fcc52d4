#include "examples/gemm_peak.h"

#include <algorithm>
#include <vector>

#include "examples/process.h"
#include "tensor/blas.h"

namespace tessera {
namespace {

/// Memory outside the ledger: a measurement is no part of what is measured.
template <class T>
std::vector<T> matrix(Index rows, Index cols) {
  return std::vector<T>(static_cast<std::size_t>(rows * cols), T(0.5));
}

template <class T>
double best_rate(const Gemm& g, int repetitions) {
  const auto a = matrix<T>(g.m, g.k), b = matrix<T>(g.k, g.n);
  auto c = matrix<T>(g.m, g.n);
  const Matrix<const T> a_mk = {a.data(), g.a_transposed ? g.m : g.k, g.a_transposed};
  const Matrix<const T> b_kn = {b.data(), g.b_transposed ? g.k : g.n, g.b_transposed};
  const double flops = 2 * static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k);
  double best = 0;
  for (int i = 0; i < repetitions; ++i) {
    const Stopwatch watch;
    parallel_gemm<T>(g.m, g.n, g.k, T(1), a_mk, b_kn, T(0), {c.data(), g.n});
    best = std::max(best, flops / watch.seconds());
  }
  return best;
}

}  // namespace

double gemm_rate(const Gemm& gemm, DType dtype, int repetitions) {
  return dispatch(dtype, [&]<class T>() { return best_rate<T>(gemm, repetitions); });
}

double gemm_peak(DType dtype) {
  double best = 0;
  for (const Index n : {512, 768, 1024}) best = std::max(best, gemm_rate({n, n, n}, dtype));
  return best;
}

}  // namespace tessera
