#pragma once

#include "nn/optimizer.h"
#include "nn/transformer.h"

namespace tessera {

/// What decides how much memory training takes.
struct TrainingSize {
  Index batch, microbatches;
  DType dtype;
  nn::OptimizerOptions optimizer;
  int zero = 0;        ///< level
  int shard_size = 1;  ///< ranks that share what it shards
};

/// Numbers that the optimizer keeps per parameter.
int num_states(const nn::OptimizerOptions& options);

/// Refuses what cannot fit in this machine, before the system kills it without a word. Counts a lower bound:
/// parameters with gradients and optimizer state, the batch's tokens, one microbatch's logits; most
/// activations come on top.
/// @throws std::invalid_argument naming what is needed and what is there.
void check_memory(const nn::Transformer& model, const TrainingSize& size);

}  // namespace tessera
