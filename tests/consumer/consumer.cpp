// What a user's own program looks like: a small model on the installed library learns to count.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "nn/train_step.h"

int main() {
  using namespace tessera;
  nn::Transformer model({.name = "tiny",
                         .layers = 1,
                         .dim = 16,
                         .heads = 2,
                         .kv_heads = 2,
                         .ffn_dim = 32,
                         .context = 8,
                         .vocab = 8});
  model.materialize(/*seed=*/1, DType::f32);
  nn::Optimizer optimizer(model.parameters(), {});

  const std::vector<std::int32_t> tokens = {0, 1, 2, 3, 4, 5, 6, 7}, targets = {1, 2, 3, 4, 5, 6, 7, 0};
  const nn::Batch batch = nn::make_batch(tokens, targets, 8);
  std::vector<double> losses;
  for (Index step = 0; step < 50; ++step)
    losses.push_back(nn::train_step(model, optimizer, batch, {.lr = 0.01, .step = step}).loss);

  std::printf("loss %.4f -> %.4f\n", losses.front(), losses.back());
  return losses.back() < 0.2 * losses.front() ? 0 : 1;
}
