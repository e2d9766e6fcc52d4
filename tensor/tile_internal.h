#pragma once

#include <cstring>

#include "tensor/shape.h"

/// Products of small matrices that stay in the first caches, where OpenBLAS spends a third of its time on
/// packing.
namespace tessera {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

/// A vector register of T. An array of two times six of them, with what feeds them, fits into sixteen
/// registers.
template <class T>
struct Vector {
  typedef T Type __attribute__((vector_size(kVectorBytes)));
};
inline constexpr Index kTileRows = 6;
template <class T>
inline constexpr Index kTileCols = 2 * kVectorBytes / static_cast<Index>(sizeof(T));

/// A matrix whose element (i, k) is data[i * row + k * col].
template <class T>
struct Strided {
  const T* data;
  Index row, col;
};

namespace internal {

/// c = a b, or c += a b, for kRows x (kVectors vectors) of c; V is a vector register, or T itself for what is
/// left over.
template <class T, class V, int kRows, int kVectors>
void tile(Index depth, Strided<T> a, const T* b, Index b_stride, T* c, Index c_stride, bool add) {
  constexpr Index kWidth = sizeof(V) / sizeof(T);
  V sum[kRows][kVectors] = {};
  for (Index k = 0; k < depth; ++k) {
    V b_k[kVectors];
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) std::memcpy(&b_k[j], b + k * b_stride + j * kWidth, sizeof(V));
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const T a_ik = a.data[i * a.row + k * a.col];
#pragma GCC unroll 8
      for (int j = 0; j < kVectors; ++j) sum[i][j] += a_ik * b_k[j];
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) {
      T* at = c + i * c_stride + j * kWidth;
      V old = {};
      if (add) std::memcpy(&old, at, sizeof(V));
      sum[i][j] += old;
      std::memcpy(at, &sum[i][j], sizeof(V));
    }
  }
}

template <class T, class V, int kVectors>
void tile_of_rows(Index rows, Index depth, Strided<T> a, const T* b, Index b_stride, T* c, Index c_stride,
                  bool add) {
  switch (rows) {
    case 6:
      return tile<T, V, 6, kVectors>(depth, a, b, b_stride, c, c_stride, add);
    case 5:
      return tile<T, V, 5, kVectors>(depth, a, b, b_stride, c, c_stride, add);
    case 4:
      return tile<T, V, 4, kVectors>(depth, a, b, b_stride, c, c_stride, add);
    case 3:
      return tile<T, V, 3, kVectors>(depth, a, b, b_stride, c, c_stride, add);
    case 2:
      return tile<T, V, 2, kVectors>(depth, a, b, b_stride, c, c_stride, add);
    case 1:
      return tile<T, V, 1, kVectors>(depth, a, b, b_stride, c, c_stride, add);
    default:
      return;
  }
}

}  // namespace internal

/// c = a b, or c += a b if `add`, for at most kTileRows rows: c is [rows, cols], a [rows, depth], b [depth,
/// cols] row-major. The same bits for a row, however many stand beside it.
template <class T>
void tile_product(Index rows, Index cols, Index depth, Strided<T> a, const T* b, Index b_stride, T* c,
                  Index c_stride, bool add) {
  using V = typename Vector<T>::Type;
  Index j = 0;
  for (; j + kTileCols<T> <= cols; j += kTileCols<T>) {
    internal::tile_of_rows<T, V, 2>(rows, depth, a, b + j, b_stride, c + j, c_stride, add);
  }
  for (; j < cols; ++j)
    internal::tile_of_rows<T, T, 1>(rows, depth, a, b + j, b_stride, c + j, c_stride, add);
}

}  // namespace tessera
