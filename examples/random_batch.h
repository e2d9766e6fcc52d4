#pragma once

#include "nn/batch.h"
#include "nn/config.h"

namespace tessera {

/// `sequences` sequences of random tokens with random targets; others for another `seed`.
nn::Batch random_batch(const nn::ModelConfig& config, Index sequences, std::uint64_t seed);

}  // namespace tessera
