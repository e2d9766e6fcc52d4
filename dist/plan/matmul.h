#pragma once

#include "dist/plan/hardware.h"

namespace tessera::plan {

/// Bytes of a number by where it is used.
struct NumberBytes {
  double activation = 2, weight = 2, output = 2;
};

/// One matrix product on one device, [B, D] x [D, F]: its own roofline.
struct MatmulRoofline {
  double flops = 0, bytes = 0;
  double compute_s = 0, memory_s = 0;
  double critical_rows = 0;        ///< B from which it is compute-bound; 0: none, however large
  double small_critical_rows = 0;  ///< where B is small beside D and F: weight bytes * (C/W) / 2
  double ridge = 0;                ///< C/W, FLOPs per byte

  double intensity() const { return flops / bytes; }
  bool compute_bound() const { return compute_s >= memory_s; }
};

/// flops = 2BDF, bytes = aBD + wDF + oBF; critical B = w R D F / (2DF - R(aD + oF)) with R = C/W.
/// Sources: scaling book, roofline.md; the interactive guide, js/roofline-model.js.
/// @throws std::invalid_argument if the hardware's memory bandwidth is not known.
MatmulRoofline matmul_roofline(const Hardware& hardware, double rows, double inner, double cols,
                               const NumberBytes& bytes);

}  // namespace tessera::plan
