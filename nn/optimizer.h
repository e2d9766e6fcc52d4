#pragma once

#include <string>

#include "nn/parameter.h"

namespace tessera::nn {

enum class OptimizerKind { sgd, adamw };
const char* to_string(OptimizerKind kind);
OptimizerKind optimizer_from(const std::string& name);

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::adamw;
  double weight_decay = 0.1;                         ///< decoupled, for parameters that decay()
  double momentum = 0;                               ///< SGD
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;  ///< AdamW
};

/// SGD:   m = momentum m + g,  w -= lr (m + decay w).
/// AdamW: m, v = running means of g, g^2;  w -= lr (m^ / (sqrt(v^) + epsilon) + decay w).  Loshchilov &
/// Hutter 2019, arXiv:1711.05101. Works on owned boxes only: owned_grad must be set.
class Optimizer {
 public:
  /// A state tensor's memory counts as optimizer; it is made in the first step.
  struct State {
    ParameterPtr parameter;
    Tensor first, second;  ///< undefined where the kind has none
  };

  Optimizer(Parameters parameters, const OptimizerOptions& options);
  /// One update with gradients multiplied by `grad_scale` (clipping). Step counts, for bias correction, start
  /// at 1.
  void step(double lr, double grad_scale = 1);

  /// As after `steps` updates, with state tensors for a checkpoint to fill: zero until then.
  void start_at(Index steps);
  Index steps() const { return steps_; }
  const std::vector<State>& states() const { return states_; }
  const OptimizerOptions& options() const { return options_; }

 private:
  void make_state(State& state) const;

  OptimizerOptions options_;
  std::vector<State> states_;
  Index steps_ = 0;
};

/// Sum of squares of all owned gradients, in double, in order.
double squared_grad_norm(const Parameters& parameters);
/// What gradients are multiplied by so that their norm is at most `max_norm`; 1 if max_norm is 0 (no
/// clipping).
double clip_scale(double norm, double max_norm);

}  // namespace tessera::nn
