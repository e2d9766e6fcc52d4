#pragma once

#include "tensor/shape.h"

namespace tessera {

/// A matrix in someone's memory: element (i, j) is data[i * stride + j], or data[j * stride + i] if
/// transposed.
template <class T>
struct Matrix {
  T* data;
  Index stride;
  bool transposed = false;
};
template <class T>
Matrix<T> transpose(Matrix<T> a) {
  return {a.data, a.stride, !a.transposed};
}

/// c_mn = alpha * a_mk b_kn + beta * c_mn, on this thread, in one call of OpenBLAS. beta = 0 ignores what c
/// holds. T is float or double. Any of m, n, k may be 0. @throws std::invalid_argument beyond OpenBLAS's
/// 32-bit sizes.
template <class T>
void gemm(Index m, Index n, Index k, T alpha, Matrix<const T> a, Matrix<const T> b, T beta, Matrix<T> c);

/// The same for large matrices: rows of c are cut into panels by a rule of shape and threads alone, shared by
/// the context's threads, with a tick after each. Panels of 6 ms cost 0 to 2 % here (4 ms: 0 to 6 %); one
/// that is no multiple of 48 rows changes bits.
template <class T>
void parallel_gemm(Index m, Index n, Index k, T alpha, Matrix<const T> a, Matrix<const T> b, T beta,
                   Matrix<T> c);

}  // namespace tessera
