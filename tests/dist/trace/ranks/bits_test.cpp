// Keeping accounts changes no bit.

#include <optional>

#include "dist/parallel/parallelize.h"
#include "dist/trace/accountant.h"
#include "nn/batch.h"
#include "nn/train_step.h"
#include "tensor/random.h"
#include "tests/dist/mpi_test.h"
#include "tests/nn/tiny_model.h"

namespace tessera::dist {
namespace {

nn::Batch batch_of(const nn::ModelConfig& config, Index step) {
  const RandomStream stream(static_cast<std::uint64_t>(world().rank()), "tokens",
                            static_cast<std::uint64_t>(step));
  std::vector<std::int32_t> tokens;
  for (Index i = 0; i < 3 * config.context; ++i)
    tokens.push_back(static_cast<std::int32_t>(stream.below(i, config.vocab)));
  return nn::make_batch(tokens, tokens, config.context);
}

/// Losses of three steps, and all parameters after them.
std::vector<double> trained(bool accounts) {
  const nn::ModelConfig config = testing::tiny_model(false, 0.1);
  nn::Transformer model(config);
  // Buckets so small that several are under way during backward.
  const Parallel parallel = parallelize(
      model, Mesh(world(), {}), {.seed = 5, .zero = world().size() > 1 ? 2 : 0, .bucket_bytes = 1000});
  nn::Optimizer optimizer(model.parameters(), {});
  std::optional<Accountant> accountant;
  if (accounts) accountant.emplace(world(), 2);
  std::vector<double> result;
  for (Index step = 0; step < 3; ++step) {
    {
      const SpanScope span(accountant ? accountant->recorder() : nullptr, SpanKind::step, "step", step);
      const nn::StepOptions options = {.microbatches = 2, .lr = 1e-2, .clip = 0.5, .seed = 5, .step = step};
      result.push_back(
          nn::train_step(model, optimizer, batch_of(config, step), options, parallel.exchange).loss);
    }
    if (accountant) accountant->step_done();
  }
  for (const nn::ParameterPtr& p : model.parameters())
    for (const float value : p->value.span<float>()) result.push_back(static_cast<double>(value));
  return result;
}

TEST(Accountant, ChangesNoBit) { EXPECT_EQ(trained(true), trained(false)); }

}  // namespace
}  // namespace tessera::dist
