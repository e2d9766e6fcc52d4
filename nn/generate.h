#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "nn/transformer.h"

namespace tessera::nn {

struct SamplingOptions {
  Index tokens = 200;
  double temperature = 0.8;  ///< 0: always the likeliest
  Index top_k = 0;           ///< draw among the k likeliest; 0: among all
  std::uint64_t seed = 1;
};

/// Continues `prompt`, calling emit(token) for each new one; the model sees the last `context` tokens.
/// @throws std::invalid_argument for an empty prompt, a token outside the vocabulary, or options out of
/// range.
void generate(Transformer& model, std::vector<std::int32_t> prompt, const SamplingOptions& options,
              const std::function<void(std::int32_t)>& emit);

}  // namespace tessera::nn
