#pragma once

#include "nn/block.h"

namespace tessera::nn {

/// A loss before division: the f64 sum over targets that count, and their number.
struct LossSum {
  Tensor sum;
  Index count = 0;
};

/// The last layer with its loss, as functions of (hidden [B, T, dim], head weight [vocab, dim], ...).
struct Head {
  ParameterPtr weight;  ///< the embedding's, if tied
  std::function<LossSum(const Tensor& hidden, const Tensor& weight, const Tensor& targets)> loss;
  std::function<Tensor(const Tensor& hidden, const Tensor& weight)> logits;
};

/// A decoder-only transformer: embedding, blocks, norm, head. Its parts are public: a strategy swaps them
/// before the first step, and nothing here knows.
class Transformer {
 public:
  /// Describes all parameters; none has storage yet. @throws std::invalid_argument as validate().
  explicit Transformer(const ModelConfig& config);

  /// Makes storage and draws initial weights (see nn::materialize).
  void materialize(std::uint64_t seed, DType dtype, double std_override = 0);

  /// The hidden states [B, T, dim] after the last norm.
  Tensor hidden(const Pass& pass);
  LossSum loss(const Pass& pass);
  /// [B, T, vocab]
  Tensor logits(const Pass& pass);

  /// Each once, in a fixed order. A tied weight appears under the embedding's name.
  Parameters parameters() const;
  void set_recompute(Recompute recompute);
  const ModelConfig& config() const { return config_; }

  Layer embedding;
  ParameterPtr position;  ///< [context, dim]; null unless positions are learned
  std::vector<std::unique_ptr<Block>> blocks;
  Layer norm;
  Head head;

 private:
  ModelConfig config_;
};

/// Matrix-product FLOPs of one training step (forward and backward, nothing recomputed): 6 x GEMM parameters
/// x tokens, and 6 products of the lower triangle of attention. @param sequences of `context` tokens.
double training_flops(const ModelConfig& config, Index sequences);

}  // namespace tessera::nn
