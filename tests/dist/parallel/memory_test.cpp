// What a training step holds of each category, beside what the plan says, for every layout of the ranks.

#include <array>
#include <nlohmann/json.hpp>

#include "dist/plan/ledger.h"
#include "nn/train_step.h"
#include "tensor/context.h"
#include "tests/dist/parallel/equality_test.h"

namespace tessera::dist {
namespace {

constexpr Index kBucketBytes = 128 << 10, kSequences = 2;  // of each rank

/// gpt-mini at a sixteenth of its size, and what travels too: wide enough for tensors to outweigh what is
/// rounded up to a cache line.
nn::ModelConfig small(bool llama) {
  nn::ModelConfig config = testing::tiny_model(llama);
  config.layers = 6;
  config.dim = 96;
  config.ffn_dim = llama ? 264 : 384;
  config.context = 64;
  config.vocab = 256;
  return config;
}

using Bytes = std::array<double, kNumCategories>;
double at(const Bytes& bytes, Category category) { return bytes[static_cast<std::size_t>(category)]; }

/// What two steps of training take at most, by category, beside what lived before.
Bytes measured(const nn::ModelConfig& config, const Layout& layout) {
  Ledger& ledger = context().ledger;
  Bytes before, peaks;
  for (std::size_t i = 0; i < before.size(); ++i)
    before[i] = static_cast<double>(ledger.current_bytes(static_cast<Category>(i)));
  ledger.reset_peaks();
  nn::Transformer model(config);
  const Cutting cutting = {
      .segment_bytes = kBucketBytes / 4, .in_flight_bytes = kBucketBytes, .awaited_bytes = 4 * kBucketBytes};
  const Parallel parallel = parallelize(model, Mesh(world(), layout.degrees),
                                        {.zero = layout.zero,
                                         .bucket_bytes = kBucketBytes,
                                         .collectives = {.algorithm = Algorithm::ring, .cutting = cutting}});
  model.set_recompute(layout.recompute);
  nn::Optimizer optimizer(model.parameters(), {});
  const std::vector<std::int32_t> tokens(static_cast<std::size_t>(kSequences * config.context), 1);
  const nn::Batch batch = nn::make_batch(tokens, tokens, config.context);
  for (Index step = 0; step < 2; ++step)
    nn::train_step(model, optimizer, batch, {.microbatches = layout.microbatches, .step = step},
                   parallel.exchange);
  for (std::size_t i = 0; i < peaks.size(); ++i)
    peaks[i] = static_cast<double>(ledger.peak_bytes(static_cast<Category>(i))) - before[i];
  return peaks;
}

plan::LedgerBytes predicted(const nn::ModelConfig& config, const Layout& layout) {
  return plan::ledger_bytes(
      {.model = plan::model_from_json(nn::to_json(config)),
       .sequences = kSequences,
       .microbatches = static_cast<double>(layout.microbatches),
       .recompute = nn::to_string(layout.recompute),
       .ranks = static_cast<double>(world().size()),
       .zero = static_cast<double>(layout.zero),
       .shard_ranks = static_cast<double>(layout.degrees.shard > 0 ? layout.degrees.shard : world().size()),
       .bucket_bytes = kBucketBytes,
       .in_flight_bytes = kBucketBytes});
}

double total(const Bytes& bytes) {
  double sum = 0;
  for (const Category category : {Category::parameter, Category::gradient, Category::optimizer,
                                  Category::activation, Category::communication})
    sum += at(bytes, category);
  return sum;
}

void expect_predicted(bool llama, const Layout& layout) {
  SCOPED_TRACE((llama ? "llama " : "gpt ") + to_string(layout) + " on " + std::to_string(world().size()));
  const Bytes bytes = measured(small(llama), layout);
  const plan::LedgerBytes plan = predicted(small(llama), layout);
  EXPECT_NEAR(plan.total() / total(bytes), 1, 0.05);
}

// Every ZeRO level with every shard size, and each of them with every kind of recomputation and several
// microbatches.
TEST(Memory, IsWhatThePlanSays) {
  for (const bool llama : {false, true})
    if (!llama || world().size() <= 4)  // on more ranks it takes long
      for (const Layout& layout : all_layouts(world().size())) expect_predicted(llama, layout);
}

// The bound that the project holds itself to: 4 ranks, AdamW, one microbatch, buckets of a twentieth of the
// parameters.
TEST(Memory, ZeroHoldsItsShare) {
  constexpr double kShare = 1.0 / 4;
  if (world().size() != 4) GTEST_SKIP() << "of 4 ranks";
  const nn::ModelConfig config = small(false);
  const nn::Transformer model(config);
  const auto bytes_of = [](const nn::Parameters& parameters) {
    return 4 * static_cast<double>(nn::count_elements(parameters));
  };
  const double all = bytes_of(model.parameters()), block = bytes_of(model.blocks[0]->parameters()),
               ends = all - static_cast<double>(config.layers) * block, bucket = kBucketBytes;
  const double formula[] = {4 * all + 2 * bucket, 2 * all + 2 * kShare * all + 2 * bucket,
                            all + 3 * kShare * all + 3 * bucket,
                            4 * kShare * all + 2 * block + block + block + 2 * ends};
  for (int level = 0; level < 4; ++level) {
    const Bytes bytes = measured(config, {.zero = level});
    const double held = total(bytes) - at(bytes, Category::activation);
    EXPECT_LE(held / formula[level], 1.03) << "level " << level;
    EXPECT_GE(held / formula[level], 0.97) << "level " << level;
  }
}

}  // namespace
}  // namespace tessera::dist
