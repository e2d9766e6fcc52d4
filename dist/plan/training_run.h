#pragma once

#include <optional>

#include "dist/plan/flops.h"

/// A whole training run, or one step of it, from one known rate.
namespace tessera::plan {

struct RunInput {
  Model model;
  double flops = 0;  ///< peak of one device
  double devices = 1;
  double batch = 0;  ///< tokens of a step; 0: no step is asked for
  double sequence = 0;
  double train_tokens = 0;  ///< 0: no run is asked for
  Recompute recompute = Recompute::none;
};

/// FLOPs of one token by each way of counting (flops.h).
struct TokenFlops {
  double model = 0, hardware = 0, korthikanti = 0, by_parameters = 0;
  double parameters_and_attention =
      0;  ///< 6N + 12 L Q s: PaLM's, Chowdhery et al. 2022, arXiv:2204.02311, app. B
  double parameters_without_attention = 0;  ///< 6N
};
TokenFlops token_flops(const RunInput& input);

/// A rate that one device keeps up, in FLOP/s of one way of counting, and what follows from it.
struct RunTimes {
  std::optional<double> step_s, days;
};

/// @param flops_per_token counted the way the rate is: model FLOPs for an MFU, hardware FLOPs for what
/// papers with recomputation print as achieved.
RunTimes run_times(const RunInput& input, double flops_per_token, double rate);

/// Share of the peak that `tokens_per_s` of all devices come to: MFU or HFU, by what is counted.
double utilisation(const RunInput& input, double flops_per_token, double tokens_per_s);

}  // namespace tessera::plan
