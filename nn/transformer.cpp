#include "nn/transformer.h"

#include <algorithm>

#include "tensor/context.h"
#include "tensor/ops.h"

namespace tessera::nn {
namespace {

LossSum token_loss(const Tensor& hidden, const Tensor& weight, const Tensor& targets) {
  const auto valid =
      std::ranges::count_if(targets.span<std::int32_t>(), [](std::int32_t t) { return t >= 0; });
  return {cross_entropy(linear(hidden, weight), targets), static_cast<Index>(valid)};
}

}  // namespace

Transformer::Transformer(const ModelConfig& config) : config_(config) {
  validate(config);
  auto tokens = std::make_unique<Embedding>("embedding", config.vocab, config.dim, config.init_std);
  const Recipe recipe = {0, config.init_std};
  if (config.position == Position::learned) {
    position = std::make_shared<Parameter>("position.weight", Shape{config.context, config.dim}, recipe);
  }
  for (Index i = 0; i < config.layers; ++i) blocks.push_back(std::make_unique<Block>(i, config));
  norm = std::make_unique<NormLayer>("norm", config);
  head.weight = config.tied
                    ? tokens->weight
                    : std::make_shared<Parameter>("head.weight", Shape{config.vocab, config.dim}, recipe);
  head.loss = token_loss;
  head.logits = [](const Tensor& hidden, const Tensor& weight) { return linear(hidden, weight); };
  embedding = std::move(tokens);
}

void Transformer::materialize(std::uint64_t seed, DType dtype, double std_override) {
  nn::materialize(parameters(), seed, dtype, std_override);
}

Tensor Transformer::hidden(const Pass& pass) {
  const Batch& batch = pass.batch;
  check(batch.num_positions <= config_.context, "Transformer", "a sequence of ", batch.num_positions,
        " tokens is longer than the context of ", config_.context);
  Tensor x = embedding->forward(batch.tokens);
  if (position) x = add_positions(std::move(x), position->value, batch.positions);
  if (pass.training && config_.dropout > 0) {
    const RandomStream stream(pass.seed, "embedding.dropout", static_cast<std::uint64_t>(pass.step));
    x = dropout(std::move(x), config_.dropout,
                {stream, batch.sequences, batch.positions, batch.num_positions});
  }
  for (const auto& block : blocks) x = block->forward(x, pass);
  return norm->forward(x);
}

LossSum Transformer::loss(const Pass& pass) {
  return head.loss(hidden(pass), head.weight->value, pass.batch.targets);
}

Tensor Transformer::logits(const Pass& pass) { return head.logits(hidden(pass), head.weight->value); }

Parameters Transformer::parameters() const {
  Parameters all;
  embedding->collect(all);
  if (position) all.push_back(position);
  for (const auto& block : blocks) block->collect(all);
  norm->collect(all);
  if (std::ranges::find(all, head.weight) == all.end()) all.push_back(head.weight);
  return all;
}

void Transformer::set_recompute(Recompute recompute) {
  for (const auto& block : blocks) block->set_recompute(recompute);
}

double training_flops(const ModelConfig& config, Index sequences) {
  const auto real = [](Index i) { return static_cast<double>(i); };
  const double dim = real(config.dim), q_width = real(config.heads * config.head_dim());
  const double kv_width = real(config.kv_heads * config.head_dim());
  const double projections = dim * (2 * q_width + 2 * kv_width);
  const double mlp = dim * real(config.ffn_dim) * (config.mlp == MlpKind::swiglu ? 3 : 2);
  const double gemm_parameters = real(config.layers) * (projections + mlp) + real(config.vocab) * dim;
  const double tokens = real(sequences) * real(config.context);
  // Scores and values, each 2 FLOPs per channel, visible pair and product; forward once, backward twice.
  const double pairs = real(sequences) * real(config.context) * (real(config.context) + 1) / 2;
  return 6 * gemm_parameters * tokens + 3 * 2 * 2 * pairs * q_width * real(config.layers);
}

}  // namespace tessera::nn
