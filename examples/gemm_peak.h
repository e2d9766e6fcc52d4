#pragma once

#include "tensor/dtype.h"

namespace tessera {

/// A product c_mn = a_mk b_kn as a layer does it; which operand lies transposed in memory matters to its
/// speed.
struct Gemm {
  Index m, n, k;
  bool a_transposed = false, b_transposed = false;
};

/// The best rate of a few repetitions, in FLOP/s, on the context's threads.
double gemm_rate(const Gemm& gemm, DType dtype, int repetitions = 5);

/// What shares of peak are measured against: the best rate of 512, 768 and 1024 cubed.
double gemm_peak(DType dtype);

}  // namespace tessera
