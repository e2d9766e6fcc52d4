#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dist/plan/hardware.h"
#include "dist/plan/models.h"

/// Is it compute-bound? Per layer, compute against communication, each as if it had the machine to itself: a
/// step takes at least the longer of the two and at most their sum.
///
/// The layer is the scaling book's: two matrices of the MLP (dim x ffn_dim, no gate, no attention), 2 bytes
/// per number. FLOPs count the experts a token visits, weights all experts. Bandwidths count as hardware.h
/// says; large groups, so (n-1)/n is 1, and no latency. Letters: B tokens of the batch, D dim, F ffn_dim, E
/// experts, k per token, X and Y degrees, M axes, W bandwidth, C FLOP/s, alpha = C/W. Sources: scaling book,
/// training.md and gpus.md; the interactive guide, js/core.js.
namespace tessera::plan {

struct RooflineInput {
  Model model;
  Hardware hardware;
  double batch = 0;  ///< tokens, global
  double dp = 1, tp = 1, pp = 1, ep = 1, cp = 1;
  double dp_axes = 1, tp_axes = 1;  ///< of a torus
  double sequence = 0;              ///< tokens, for context parallel

  double alpha() const { return hardware.flops / hardware.link_bandwidth; }
};

struct Bound {
  std::string strategy;
  double compute_s = 0, communication_s = 0;  ///< of one layer
  std::map<std::string, double> parts{};      ///< what communication_s is the longest of, and other figures
  double devices = 1;
  std::optional<double>
      critical_tokens{};               ///< per device; none: no batch makes it compute-bound, or any does
  std::optional<double> max_degree{};  ///< real; degrees beyond it are bandwidth-bound whatever the batch
  std::string verdict{};               ///< a sentence

  bool compute_bound() const { return compute_s >= communication_s; }
};

/// Backward's gradient sums: 8BDFk/(XC) against 8DFE/(WM); B/X > alpha E/(kM).
/// With tp or pp each device has a share of the weights, and so of the sums: over several domains, a model
/// shard that spans n of them has n times the bandwidth.
Bound roofline_dp(const RooflineInput& input);
/// Fully sharded (ZeRO 3), forward: 4BDFk/(XC) against gathering weights, 4DFE/(WM). The same condition.
Bound roofline_fsdp(const RooflineInput& input);
/// Megatron's all-gather and reduce-scatter of activations: 4BDFk/(YC) against 4BD/(WM); Y < M k F / alpha.
Bound roofline_tp(const RooflineInput& input);
/// Both: 4BDFk/(XYC) against the longer of 4DFE/(YWM_X) and 4BD/(XWM_Y).
Bound roofline_mixed(const RooflineInput& input);
/// Tokens to experts and back: 4BkDF/(ZC) against an all-to-all that leaves out what stays. Switched fabrics.
Bound roofline_ep(const RooflineInput& input);
/// A microbatch's activations to the next stage: 4BDFk L/p / C of compute against 2BD/W; L/p > alpha / (2kF).
Bound roofline_pp(const RooflineInput& input);
/// Ring attention: while one block of c tokens is computed with, 4dc^2/C, the next comes, 4cd/W; c >= C/W.
/// Source: Liu et al. 2023, arXiv:2310.01889, Table 2.
Bound roofline_cp(const RooflineInput& input);
/// Gradient sums between domains (pods): B per domain > C / W_scale-out. Nothing within one.
Bound roofline_cross_domain(const RooflineInput& input);

/// Strategies by name, "dp", "fsdp", ..., "cross-domain". @throws std::invalid_argument for another name.
Bound roofline(const std::string& strategy, const RooflineInput& input);
const std::vector<std::string>& roofline_strategies();

/// How far each strategy goes at this batch; all from the conditions above.
struct Limits {
  double fsdp_devices = 0;   ///< B M_X k / (alpha E)
  double tp_degree = 0;      ///< M_Y k F / alpha
  double mixed_devices = 0;  ///< B M_X M_Y k^2 F / (alpha^2 E)
  double mixed_floor = 0;    ///< tokens per device, alpha^2 E / (M_X M_Y k^2 F)
  double best_dp = 0;        ///< X of the mix, sqrt(B M_X N / (E F M_Y)), that makes both parts equal
  double best_dp_pow2 = 0;   ///< the nearest power of two
};
Limits limits(const RooflineInput& input);

}  // namespace tessera::plan
