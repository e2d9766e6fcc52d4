#include "dist/plan/flops.h"

#include "dist/plan/request.h"

namespace tessera::plan {
namespace {

constexpr const char* kRecomputes[] = {"none", "selective", "full"};

}  // namespace

const char* to_string(Recompute recompute) { return kRecomputes[static_cast<int>(recompute)]; }

Recompute recompute_from(const std::string& name) {
  require_known("recompute", name, {kRecomputes[0], kRecomputes[1], kRecomputes[2]});
  for (const Recompute recompute : {Recompute::none, Recompute::selective})
    if (name == to_string(recompute)) return recompute;
  return Recompute::full;
}

ForwardFlops forward_flops(const Model& m, double sequence, bool causal) {
  const double keys = causal ? (sequence + 1) / 2 : sequence;
  return {.projections = 2 * m.layers * m.attention_weights(),
          .mlp = 2 * m.layers * m.mlp_weights_per_token(),
          .attention = 2 * 2 * m.layers * keys * m.q_width(),  // scores, and their product with the values
          .head = 2 * m.vocab * m.dim};
}

double model_flops_per_token(const Model& model, double sequence, bool causal) {
  return 3 * forward_flops(model, sequence, causal).total();
}

double hardware_flops_per_token(const Model& model, double sequence, Recompute recompute, bool causal) {
  const ForwardFlops forward = forward_flops(model, sequence, causal);
  double again = 0;
  if (recompute == Recompute::full) again = forward.blocks();
  if (recompute == Recompute::selective) again = forward.attention;
  return 3 * forward.total() + again;
}

double korthikanti_selective_flops_per_token(const Model& model, double sequence) {
  const ForwardFlops forward = forward_flops(model, sequence);
  return 3 * forward.total() + 3 * forward.attention;
}

double parameters_per_token(const Model& m) {
  const ParameterCount count = count_parameters(m);
  if (m.given_parameters > 0) return m.given_parameters;
  return count.total() - count.mlp + m.layers * m.mlp_weights_per_token();
}

double flops_per_token_by_parameters(const Model& model, Recompute recompute) {
  return (recompute == Recompute::full ? 8 : 6) * parameters_per_token(model);
}

}  // namespace tessera::plan
