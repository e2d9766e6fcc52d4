#pragma once

#include "dist/plan/collective_cost.h"
#include "dist/plan/layout.h"

/// How long a step of a layout takes, from the formulas of this folder.
namespace tessera::plan {

/// Seconds of a step, by what they go into; they add up to step_s().
struct StepCost {
  double compute_s = 0;      ///< of the fullest stage, recomputation in it
  double tensor_s = 0;       ///< sums of activations over tp, never hidden
  double context_s = 0;      ///< keys and values over cp, beyond what the attention hides
  double expert_s = 0;       ///< tokens to experts and back
  double bubble_s = 0;       ///< the pipeline's idle time, and its messages while it fills and drains
  double data_s = 0;         ///< sums and gathers over dp, beyond what compute hides
  double optimizer_s = 0;    ///< reading and writing the state once, where memory bandwidth is known
  double hidden_data_s = 0;  ///< communication over dp that compute hides; in no sum

  double step_s() const {
    return compute_s + tensor_s + context_s + expert_s + bubble_s + data_s + optimizer_s;
  }
};

/// Devices are numbered pp, dp, cp, tp from outer to inner: tp's are neighbours. ep is the inner part of dp x
/// cp.
///
/// Compute runs at the hardware's FLOP/s. Per layer and microbatch there are two sums of activations over tp
/// in forward and two in backward, one more pair with full recompute; keys and values go once round cp
/// forward and twice backward, behind the attention; tokens go to experts and back forward and backward.
/// Gradients are summed once per step, behind the last microbatch's backward; ZeRO 3 gathers weights for each
/// pass of each microbatch, behind all compute. What cannot divide counts as its largest part.
StepCost step_cost(const Model& model, const Hardware& hardware, const Layout& layout, double batch,
                   double sequence);

}  // namespace tessera::plan
