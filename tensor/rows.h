#pragma once

// How kernels see tensors: rows as Eigen arrays, and memory to write results into. Internal: not installed.

#include <Eigen/Core>

#include "tensor/tensor.h"

namespace tessera {

template <class T>
using Row = Eigen::Map<Eigen::Array<T, 1, Eigen::Dynamic>>;
template <class T>
using ConstRow = Eigen::Map<const Eigen::Array<T, 1, Eigen::Dynamic>>;

template <class T>
Row<T> row_of(T* data, Index cols, Index n = 0) {
  return {data + n * cols, cols};
}
template <class T>
ConstRow<T> row_of(const T* data, Index cols, Index n = 0) {
  return {data + n * cols, cols};
}

/// x's memory if the caller holds its only handle, else new memory alike: for an op whose result may replace
/// its argument.
inline Tensor reuse(const Tensor& x) { return x.unique() ? x.detach() : Tensor(x.shape(), x.dtype()); }

/// body(std::bool_constant): a kernel compiled for writing (fresh) and for adding.
template <class Body>
void dispatch_fresh(bool fresh, Body&& body) {
  if (fresh)
    body(std::true_type{});
  else
    body(std::false_type{});
}

}  // namespace tessera
