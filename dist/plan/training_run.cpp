#include "dist/plan/training_run.h"

namespace tessera::plan {

TokenFlops token_flops(const RunInput& in) {
  const ForwardFlops forward = forward_flops(in.model, in.sequence);
  TokenFlops t;
  t.model = model_flops_per_token(in.model, in.sequence);
  t.hardware = hardware_flops_per_token(in.model, in.sequence, in.recompute);
  t.korthikanti = korthikanti_selective_flops_per_token(in.model, in.sequence);
  t.by_parameters = flops_per_token_by_parameters(in.model, in.recompute);
  t.parameters_without_attention = 6 * parameters_per_token(in.model);
  t.parameters_and_attention = t.parameters_without_attention + 3 * forward.attention;
  return t;
}

RunTimes run_times(const RunInput& in, double flops_per_token, double rate) {
  constexpr double kDay = 86400;
  RunTimes times;
  if (in.batch > 0) times.step_s = in.batch * flops_per_token / (in.devices * rate);
  if (in.train_tokens > 0) times.days = in.train_tokens * flops_per_token / (in.devices * rate) / kDay;
  return times;
}

double utilisation(const RunInput& in, double flops_per_token, double tokens_per_s) {
  return tokens_per_s * flops_per_token / (in.devices * in.flops);
}

}  // namespace tessera::plan
