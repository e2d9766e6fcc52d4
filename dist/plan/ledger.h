#pragma once

#include <string>

#include "dist/plan/models.h"

/// What Tessera's own memory ledger shows of training on one rank, predicted category by category: the
/// tensors that its ops keep, counted.
namespace tessera::plan {

/// Tessera's recompute modes are its own: selective computes outputs of norms and of the MLP's activation
/// again, and no matrix product; full a whole block.
struct LedgerInput {
  Model model;
  double sequences = 0;  ///< of this rank's share of the batch
  double microbatches = 1;
  double number_bytes = 4;      ///< f32
  double optimizer_states = 2;  ///< AdamW: two numbers per parameter
  std::string recompute = "none";
  double ranks = 1;  ///< that share the batch
  double zero = 0;   ///< 0 to 3, over shard_ranks
  double shard_ranks = 1;
  double bucket_bytes = 2 << 20;     ///< gradients that travel together
  double in_flight_bytes = 2 << 20;  ///< of collectives, while a rank computes (dist/comm/work.h)
};

/// Bytes at each category's peak. Left out is scratch of the kernels, which depends on their tiles.
struct LedgerBytes {
  double parameter = 0, gradient = 0, optimizer = 0, activation = 0;
  double communication = 0;  ///< how much of it is used at one moment depends on who is late

  double total() const { return parameter + gradient + optimizer + activation + communication; }
};

/// Model state: each rank holds all parameters, gradients and optimizer state but what ZeRO shards
/// (dist/parallel/zero.h). With 2, two buckets of whole gradients besides, and a tied embedding's; with 3,
/// two blocks of whole parameters and the ends, two blocks of whole gradients (one travels while the other is
/// computed) and what the ends have by then.
///
/// Activations peak when backward has just begun: either at the head, with logits and the gradient of the
/// last hidden states, or in the last block's MLP. Of each token a block keeps, in numbers: its input, both
/// norms' outputs, q, k, v, attention's output and log-sum-exp, the middle of the residual stream, the MLP's
/// two or three of ffn_dim, and one or two statistics per norm.
///
/// Communication holds what has come and waits to be added, and what is packed to be sent: up to two buckets
/// at level 0; else what may be in flight, on each of two communicators at level 3, and on one more where
/// groups repeat each other.
/// @throws std::invalid_argument for an unknown recompute mode, or a mixture of experts.
LedgerBytes ledger_bytes(const LedgerInput& input);

}  // namespace tessera::plan
