#include "dist/plan/pipeline.h"

#include <algorithm>

namespace tessera::plan {

double bubble_over_ideal(const std::string& schedule, double p, double m, double v, const PassTimes& t) {
  const double f = t.forward, b = t.backward_input, w = t.backward_weight, ideal = m * (f + b + w);
  if (schedule == "zb-h1") return std::max(0.0, (p - 1) * (f + b - w)) / ideal;
  if (schedule == "zb-h2") return std::max(0.0, (p - 1) * (f + b - 2 * w)) / ideal;
  return (p - 1) / (v * m);
}

double pipeline_seconds(const std::string& schedule, double p, double m, double v, const PassTimes& t) {
  const double ideal = m * (t.forward + t.backward_input + t.backward_weight);
  double idle = bubble_over_ideal(schedule, p, m, v, t) * ideal;
  if (schedule == "zb-h2") idle = std::max(idle, (p - 1) * t.forward);
  return ideal + idle;
}

double in_flight(const std::string& schedule, double p, double m, double v, double rank) {
  if (schedule == "gpipe") return m;
  if (schedule == "1f1b") return std::min(m, p - rank);
  if (schedule == "interleaved") return std::min(m, (2 * (p - rank - 1) + (v - 1) * p + 1) / v);
  return std::min(m, schedule == "zb-h1" ? p : 2 * p - 1);
}

}  // namespace tessera::plan
