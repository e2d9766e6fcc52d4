#pragma once

#include <string>
#include <vector>

#include "dist/plan/models.h"

/// FLOPs of training, two per multiply and add. Backward is twice forward.
///
/// Attention is counted in full, seq keys per token, as Megatron, PaLM and the scaling book do, although a
/// causal one sees half of them; with `causal` only what is computed here, (seq + 1) / 2.
namespace tessera::plan {

/// What backward computes again, in the sense of Korthikanti et al. (arXiv:2205.05198): the core of the
/// attention, or whole blocks.
enum class Recompute { none, selective, full };
const char* to_string(Recompute recompute);
Recompute recompute_from(const std::string& name);

/// Forward FLOPs of one token.
struct ForwardFlops {
  double projections = 0, mlp = 0, attention = 0, head = 0;

  double blocks() const { return projections + mlp + attention; }
  double total() const { return blocks() + head; }
};

ForwardFlops forward_flops(const Model& model, double sequence, bool causal = false);

/// Forward and backward of one token: what MFU counts. Megatron's 72 L h^2 (1 + s/6h + V/12hL).
double model_flops_per_token(const Model& model, double sequence, bool causal = false);

/// Besides, what is computed again: what HFU counts. Full: one forward of all blocks, 96 L h^2 (1 + s/6h +
/// V/16Lh) in all (Narayanan et al. 2021, arXiv:2104.04473). Selective: one forward of attention's core,
/// s/18h.
double hardware_flops_per_token(const Model& model, double sequence, Recompute recompute,
                                bool causal = false);

/// Selective recompute's overhead as Korthikanti et al. print it, s/6h of the model's FLOPs: as much as all
/// of attention's core, three times the one forward that is computed again. To reproduce their HFU, nothing
/// else.
double korthikanti_selective_flops_per_token(const Model& model, double sequence);

/// 6 or, with full recompute, 8 FLOPs per parameter and token. A mixture counts what a token visits.
double flops_per_token_by_parameters(const Model& model, Recompute recompute);
double parameters_per_token(const Model& model);

}  // namespace tessera::plan
