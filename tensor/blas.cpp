#include "tensor/blas.h"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/check.h"
#include "tensor/threads.h"

namespace tessera {
namespace {

/// OpenBLAS's own threads beside ours made small products up to 80 times slower, so it gets one, once.
void use_one_thread() {
  static const bool once = (openblas_set_num_threads(1), true);
  static_cast<void>(once);
}

blasint blas_int(Index size) {
  check(size <= std::numeric_limits<blasint>::max(), "gemm", "a size of ", size, " is beyond OpenBLAS's ",
        std::numeric_limits<blasint>::max());
  return static_cast<blasint>(size);
}

CBLAS_TRANSPOSE blas_transpose(bool transposed) { return transposed ? CblasTrans : CblasNoTrans; }

constexpr Index kRowUnit = 48;  // OpenBLAS's kernels end on it, so a cut there changes no bits

Index round_up(Index size, Index unit) { return (size + unit - 1) / unit * unit; }

/// Panels of about 6 ms at 100 GFLOP/s but at least 6 units, all alike, one at least for each thread. A
/// product of up to one and a half of them stays whole: the second panel would pack all of b once more.
Index panel_rows(Index m, Index n, Index k) {
  const double row_flops = std::max(1.0, 2.0 * static_cast<double>(n) * static_cast<double>(k));
  const double panel = std::max(6.0 * kRowUnit, 6e8 / row_flops);
  const Index threads =
      static_cast<double>(m) * row_flops < 1e6 ? 1 : context().threads;  // a team costs 5 us or so
  const Index panels = std::max<Index>(threads, std::llround(static_cast<double>(m) / panel));
  return std::max(kRowUnit, round_up((m + panels - 1) / panels, kRowUnit));
}

template <class T>
Matrix<T> rows_from(Matrix<T> a, Index row) {
  return {a.data + row * (a.transposed ? 1 : a.stride), a.stride, a.transposed};
}

}  // namespace

template <class T>
void gemm(Index m, Index n, Index k, T alpha, Matrix<const T> a, Matrix<const T> b, T beta, Matrix<T> c) {
  if (m == 0 || n == 0) return;
  use_one_thread();
  assert(!c.transposed);
  const auto call = [&](auto cblas_gemm) {
    cblas_gemm(CblasRowMajor, blas_transpose(a.transposed), blas_transpose(b.transposed), blas_int(m),
               blas_int(n), blas_int(k), alpha, a.data, blas_int(a.stride), b.data, blas_int(b.stride), beta,
               c.data, blas_int(c.stride));
  };
  if constexpr (std::is_same_v<T, float>)
    call(cblas_sgemm);
  else
    call(cblas_dgemm);
}

template <class T>
void parallel_gemm(Index m, Index n, Index k, T alpha, Matrix<const T> a, Matrix<const T> b, T beta,
                   Matrix<T> c) {
  use_one_thread();
  parallel_pieces(m, panel_rows(m, n, k), [&](Index begin, Index end) {
    gemm(end - begin, n, k, alpha, rows_from(a, begin), b, beta, rows_from(c, begin));
  });
}

template void gemm(Index, Index, Index, float, Matrix<const float>, Matrix<const float>, float,
                   Matrix<float>);
template void gemm(Index, Index, Index, double, Matrix<const double>, Matrix<const double>, double,
                   Matrix<double>);
template void parallel_gemm(Index, Index, Index, float, Matrix<const float>, Matrix<const float>, float,
                            Matrix<float>);
template void parallel_gemm(Index, Index, Index, double, Matrix<const double>, Matrix<const double>, double,
                            Matrix<double>);

}  // namespace tessera
