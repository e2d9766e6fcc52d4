#include "examples/random_batch.h"

#include "tensor/random.h"

namespace tessera {

nn::Batch random_batch(const nn::ModelConfig& config, Index sequences, std::uint64_t seed) {
  const auto draw = [&](const char* name) {
    const RandomStream stream(seed, name);
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(sequences * config.context));
    for (Index i = 0; auto& token : tokens)
      token = static_cast<std::int32_t>(stream.below(i++, config.vocab));
    return tokens;
  };
  return nn::make_batch(draw("tokens"), draw("targets"), config.context);
}

}  // namespace tessera
