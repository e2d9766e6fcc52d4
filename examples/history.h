#pragma once

#include <vector>

#include "examples/step_clock.h"
#include "tensor/shape.h"

namespace tessera {

/// A step, counted from 0: its loss is that of the weights after `step` updates.
struct StepRecord {
  Index step = 0;
  double loss = 0, grad_norm = 0;
  Index tokens = 0;
  double lr = 0;
  StepTimes times{};
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

/// 0 for none.
double median(std::vector<double> values);
/// The median of each part by itself.
StepTimes median_times(const std::vector<StepTimes>& times);
/// The first two steps are left out if there are more, since they fetch memory.
StepTimes median_times(const History& history);

}  // namespace tessera
