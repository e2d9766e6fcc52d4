#pragma once

#include <algorithm>

#include "examples/equality_run.h"

namespace tessera {

/// The largest relative errors of a run: of a tensor, max|a - b| / max|reference|. (The key bias without RoPE
/// has gradient zero by symmetry: its scale is that of its projection's weight.)
struct Errors {
  double loss = 0, norm = 0, gradient = 0, update = 0;
  std::string worst_parameter;  ///< of the largest gradient or update error
  bool initial_weights_equal = true;

  double worst() const { return std::max({loss, norm, gradient, update}); }
};
/// Collective: errors over all ranks, on every rank. @param boxes of the parameters as `got` has them.
Errors compare(const Trace& got, const nn::Parameters& boxes, const Trace& reference,
               const EqualityCase& what, const dist::Comm& world);

/// What was found of one layout in one number type.
struct Verdict {
  Layout layout;
  DType dtype = DType::f64;
  Errors errors{};
  double bound = 0;  ///< of each error
  bool replicas_equal = false;
  std::string problem{};  ///< see LayoutRun

  bool pass() const;
};

/// Measures layouts against one rank. f64: errors up to 1e-11. f32: against the f64 run from the same
/// weights, up to 4 times the error that one rank makes in f32.
class Verifier {
 public:
  Verifier(EqualityCase what, dist::Comm world);
  /// Collective. @param options: its dtype is the one that is verified.
  Verdict verify(const Layout& layout, const EqualityOptions& options) const;
  double single_rank_f32_error() const { return single_f32_; }
  const Trace& reference() const { return reference_; }

 private:
  EqualityCase what_;
  dist::Comm world_;
  Trace reference_;
  double single_f32_ = 0;
};

}  // namespace tessera
