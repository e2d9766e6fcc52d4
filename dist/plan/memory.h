#pragma once

#include <string>
#include <vector>

#include "dist/plan/layout.h"

/// Bytes on a device: model state, and activations under each convention people count them by.
namespace tessera::plan {

/// Bytes per parameter.
struct StateBytes {
  double weights = 2, gradients = 2, optimizer = 12;
  double total() const { return weights + gradients + optimizer; }
};

/// Conventions by name:
///  mixed      2 + 2 + 12  bf16 weights and gradients, f32 master weights and Adam's moments (ZeRO,
///  arXiv:1910.02054) book       2 + 0 + 8   bf16 weights and f32 moments; no gradients, no master copy
///  (scaling book, training.md) megatron   2 + 4 + 12  f32 gradients (arXiv:2205.05198) f32-accumulation  2 +
///  6 + 12  bf16 gradients, summed in f32 besides (Ultra-Scale Playbook) bf16-moments  2 + 2 + 8 f32        4
///  + 4 + 8   what Tessera itself holds
StateBytes state_bytes(const std::string& convention);
const std::vector<std::string>& state_conventions();

/// Activations that one layer keeps of one token, on one device of a tensor parallel group.
///
/// korthikanti: bf16 and byte masks of a GPT layer, 34 + 5as/h times h (arXiv:2205.05198, 4). tp divides all
/// but the norms and dropouts, sequence parallel these as well; selective recompute, or an attention that
/// never writes its scores, drops 5as/h; full keeps the layer's input, 2h. book: `saved_widths` bf16 numbers,
/// times dim; by default the layer's input and two of ffn_dim, dim + 2 k ffn_dim, and with full recompute the
/// input (scaling book, training.md). tp divides them.
struct ActivationRule {
  std::string convention = "korthikanti";
  double saved_widths = 0;  ///< 0: by default

  double bytes_per_token(const Model& model, const Layout& layout, double sequence) const;
};

struct MemoryInput {
  Model model;
  Layout layout;
  StateBytes state;
  ActivationRule activations;
  double batch = 0;     ///< tokens; 0: no activations
  double sequence = 0;  ///< tokens of one; 0: scores of the attention are not counted
};

/// Of one device of a pipeline stage.
struct StageMemory {
  std::string stage;  ///< first, middle, last, or all
  double parameters = 0;
  double weights = 0, gradients = 0, optimizer = 0, activations = 0;
  double logits = 0;  ///< f32, of one microbatch; korthikanti only
  double in_flight = 0;

  double state() const { return weights + gradients + optimizer; }
  double total() const { return state() + activations + logits; }
};

/// The stages that differ.
std::vector<StageMemory> stage_memory(const MemoryInput& input);

/// The fullest of them.
StageMemory fullest(const std::vector<StageMemory>& stages);

/// Numbers each device sends per step for weights and gradients, in parameters of its shard, (n-1)/n taken as
/// 1: 2 up to ZeRO 2, 3 with ZeRO 3, whose weights are gathered once more. Source: arXiv:1910.02054, 7.
double zero_volume(double zero);

}  // namespace tessera::plan
