#include "nn/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "nn/names.h"

namespace tessera::nn {
namespace {

constexpr Named<Decay> kDecays[] = {
    {"cosine", Decay::cosine}, {"linear", Decay::linear}, {"constant", Decay::constant}};

void check_schedule(const Schedule& s, Index step) {
  check(std::isfinite(s.peak) && s.peak >= 0, "learning_rate", "peak is ", s.peak, ", expected 0 or more");
  check(s.warmup >= 0, "learning_rate", "warmup is ", s.warmup, " steps");
  check(s.final_fraction >= 0 && s.final_fraction <= 1, "learning_rate", "final_fraction is ",
        s.final_fraction, ", not in [0, 1]");
  check(0 <= step && step < s.steps, "learning_rate", "step ", step, " of a schedule of ", s.steps, " steps");
}

/// How much of the way from peak to the final rate is gone at time t in [0, 1].
double decayed(Decay decay, double t) {
  switch (decay) {
    case Decay::cosine:
      return (1 - std::cos(std::numbers::pi * t)) / 2;
    case Decay::linear:
      return t;
    case Decay::constant:
      return 0;
  }
  return 0;
}

}  // namespace

const char* to_string(Decay decay) { return name_of(kDecays, decay); }
Decay decay_from(const std::string& name) { return value_of("decay", kDecays, name); }

double learning_rate(const Schedule& schedule, Index step) {
  check_schedule(schedule, step);
  const auto real = [](Index i) { return static_cast<double>(i); };
  if (step < schedule.warmup) return schedule.peak * (real(step + 1) / real(schedule.warmup));
  // The peak is the last step of the warm-up, or step 0 without one.
  const Index top = std::max<Index>(schedule.warmup, 1) - 1, last = schedule.steps - 1;
  const double t = step == top ? 0 : real(step - top) / real(last - top);
  return std::lerp(schedule.peak, schedule.peak * schedule.final_fraction, decayed(schedule.decay, t));
}

}  // namespace tessera::nn
