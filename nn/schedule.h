#pragma once

#include <string>

#include "tensor/shape.h"

namespace tessera::nn {

enum class Decay { cosine, linear, constant };
const char* to_string(Decay decay);
Decay decay_from(const std::string& name);

/// Learning rate over a run: a linear warm-up to `peak`, then decay to `peak * final_fraction` at the last
/// step.
struct Schedule {
  double peak = 1e-3;
  Index warmup = 0, steps = 1;
  Decay decay = Decay::cosine;
  double final_fraction = 0.1;
};

/// Of step 0, 1, ..., steps - 1: a pure function, so resuming needs no state. Never 0: step 0 of w warm-up
/// steps is peak / w.
double learning_rate(const Schedule& schedule, Index step);

}  // namespace tessera::nn
