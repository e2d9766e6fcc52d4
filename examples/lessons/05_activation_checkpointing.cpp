// Activation checkpointing: what forward computes for backward need not be kept, if it can be computed again.
//
//   mpirun -n 2 build/bin/05_activation_checkpointing
//
//     8 blocks, dropout on. Activations at their most, in KiB, and FLOPs of a step, in millions.
//
//       rank   none: KiB       MFLOP  selective: KiB       MFLOP   full: KiB       MFLOP
//          0     2258.15      88.277         1490.15      88.277     485.148     115.606
//          1     2258.15      88.277         1490.15      88.277     485.148     115.606
//
//     holds: loss and every gradient have the same bits, dropout included
//     holds: selective keeps less, and computes no product of matrices again
//     holds: full keeps one input per block: less than half
//     holds: and computes each block's forward again: 4 instead of 3 passes
//
// What to change: the context or the number of sequences (kSequences): activations grow with both, the
// parameters do not, so the longer the batch, the more there is to save.

#include <algorithm>
#include <cstring>

#include "dist/parallel/parallelize.h"
#include "examples/lessons/lesson.h"
#include "nn/train_step.h"
#include "tensor/context.h"
#include "tensor/random.h"

namespace tessera {
namespace {

constexpr Index kSequences = 4;  // per rank

nn::Batch batch_of(const nn::ModelConfig& config, int rank) {
  const RandomStream stream(static_cast<std::uint64_t>(rank) + 1, "tokens");
  std::vector<std::int32_t> tokens, targets;
  for (Index i = 0; i < kSequences * config.context; ++i) {
    tokens.push_back(static_cast<std::int32_t>(stream.below(2 * i, config.vocab)));
    targets.push_back(static_cast<std::int32_t>(stream.below(2 * i + 1, config.vocab)));
  }
  nn::Batch batch = nn::make_batch(tokens, targets, config.context);
  for (auto& number : batch.sequences.span<std::int32_t>())
    number += static_cast<std::int32_t>(rank * kSequences);
  return batch;
}

/// What a way of recomputing came to on this rank.
struct Outcome {
  double loss = 0, activation_bytes = 0, flops = 0;
  std::vector<Tensor> grads{};
};

Outcome step(const dist::Comm& world, nn::Recompute recompute) {
  nn::ModelConfig config = nn::find_model("gpt-pico");
  config.layers = 8;
  config.dropout = 0.1;  // drawn again from its numbers, not stored
  const dist::Mesh mesh(world, {});
  nn::Transformer model(config);
  const dist::Parallel parallel = dist::parallelize(model, mesh, {});
  model.set_recompute(recompute);
  nn::Optimizer optimizer(model.parameters(), {});

  Outcome outcome;
  const OpObserver count = {[&](const OpInfo& op) { outcome.flops += op.flops; }, {}, {}};
  const Scoped<const OpObserver*> listening(context().observer, &count);
  context().ledger.reset_peaks();
  outcome.loss = nn::train_step(model, optimizer, batch_of(config, world.rank()), {}, parallel.exchange).loss;
  outcome.activation_bytes = static_cast<double>(context().ledger.peak_bytes(Category::activation));
  for (const nn::ParameterPtr& p : model.parameters()) outcome.grads.push_back(p->owned_grad.clone());
  return outcome;
}

bool same_bits(const Outcome& a, const Outcome& b) {
  bool same = a.loss == b.loss;
  for (std::size_t i = 0; i < a.grads.size(); ++i)
    same = same && std::memcmp(a.grads[i].data<float>(), b.grads[i].data<float>(),
                               static_cast<std::size_t>(a.grads[i].bytes())) == 0;
  return same;
}

void lesson(Lesson& l) {
  const Outcome none = step(l.world(), nn::Recompute::none);
  const Outcome selective = step(l.world(), nn::Recompute::selective);
  const Outcome full = step(l.world(), nn::Recompute::full);
  l.say("8 blocks, dropout on. Activations at their most, in KiB, and FLOPs of a step, in millions.\n\n");
  const auto kib = [](const Outcome& o) { return o.activation_bytes / 1024; };
  const auto mega = [](const Outcome& o) { return o.flops / 1e6; };
  l.table({"none: KiB", "MFLOP", "selective: KiB", "MFLOP", "full: KiB", "MFLOP"},
          {kib(none), mega(none), kib(selective), mega(selective), kib(full), mega(full)});
  l.say("\n");
  l.claim("loss and every gradient have the same bits, dropout included",
          same_bits(none, selective) && same_bits(none, full));
  l.claim("selective keeps less, and computes no product of matrices again",
          selective.activation_bytes < 0.9 * none.activation_bytes && selective.flops < 1.01 * none.flops);
  l.claim("full keeps one input per block: less than half",
          full.activation_bytes < 0.5 * none.activation_bytes);
  l.claim("and computes each block's forward again: 4 instead of 3 passes",
          full.flops > 1.2 * none.flops && full.flops < 4.01 / 3 * none.flops);
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  return tessera::run_lesson(argc, argv, "05_activation_checkpointing", "Activations can be computed again.",
                             tessera::lesson);
}
