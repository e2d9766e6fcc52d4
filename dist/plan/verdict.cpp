#include "dist/plan/verdict.h"

#include <cmath>

#include "dist/plan/units.h"

namespace tessera::plan {
namespace {

std::string number(double value) { return quantity_text(value, Unit::count); }

std::string opening(const Bound& bound) {
  if (bound.communication_s == 0) return "Compute-bound: nothing is sent";
  const double ratio = bound.compute_s / bound.communication_s;
  if (bound.compute_bound()) return "Compute-bound with " + number(ratio) + " times headroom";
  return "Bandwidth-bound, communication takes " + number(1 / ratio) + " times as long as compute";
}

/// Degrees are whole.
std::string at_most(double degree) { return number(std::floor(degree)); }

}  // namespace

std::string batch_verdict(const Bound& bound, double batch) {
  const double tokens = batch / bound.devices, critical = *bound.critical_tokens;
  if (bound.compute_bound())
    return opening(bound) + ": " + number(tokens) + " tokens per device, and " + number(critical) +
           " would do, so up to " + at_most(batch / critical) + " devices at this batch.";
  return opening(bound) + ": raise the batch per device from " + number(tokens) + " to " + number(critical) +
         " tokens (" + number(critical * bound.devices) + " in all), or use at most " +
         at_most(batch / critical) + " devices.";
}

std::string degree_verdict(const Bound& bound, const std::string& axis, double degree) {
  const std::string most = at_most(std::max(*bound.max_degree, 1.0));
  if (bound.compute_bound())
    return opening(bound) + ": " + axis + " may go up to " + most + ", whatever the batch.";
  return opening(bound) + ": lower " + axis + " from " + number(degree) + " to " + most +
         "; no batch makes up for it.";
}

std::string width_verdict(const Bound& bound, double ffn_dim) {
  return opening(bound) + ": experts of ffn_dim " + number(ffn_dim) + ", and " +
         number(bound.parts.at("ffn_dim_needed")) +
         (bound.compute_bound() ? " would do." : " would be needed; lower ep, or keep it in fewer domains.");
}

std::string stage_verdict(const Bound& bound, double layers) {
  return opening(bound) + ": " + number(layers) + " layers per stage, and " +
         number(bound.parts.at("layers_per_stage_needed")) +
         (bound.compute_bound() ? " would do." : " would be needed; lower pp.");
}

}  // namespace tessera::plan
