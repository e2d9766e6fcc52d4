#pragma once

#include <vector>

#include "tensor/shape.h"

namespace tessera {

/// A step, counted from 0: its loss is that of the weights after `step` updates.
struct StepRecord {
  Index step = 0;
  double loss = 0, grad_norm = 0;
  Index tokens = 0;
  double lr = 0;
  double step_s = 0;
};

/// The validation loss after `step` updates.
struct ValidationRecord {
  Index step = 0;
  double loss = 0;
};

/// What a training run has seen so far.
struct History {
  std::vector<StepRecord> steps;
  std::vector<ValidationRecord> validation;
};

}  // namespace tessera
