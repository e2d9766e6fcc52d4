#include "dist/trace/memory_formula.h"

#include <gtest/gtest.h>

#include "nn/data.h"
#include "nn/train_step.h"
#include "tensor/context.h"
#include "tests/nn/tiny_model.h"

namespace tessera::dist {
namespace {

/// What a step of training takes at most, by category, beside what lived before.
std::array<Index, kNumCategories> measured(const nn::ModelConfig& config, nn::Recompute recompute) {
  Ledger& ledger = context().ledger;
  nn::Transformer model(config);
  model.set_recompute(recompute);
  model.materialize(1, DType::f32);
  nn::Optimizer optimizer(model.parameters(), {});
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(4 * config.context), 1);
  const nn::Batch batch = nn::make_batch(tokens, tokens, config.context);
  ledger.reset_peaks();
  nn::train_step(model, optimizer, batch, {});
  std::array<Index, kNumCategories> peaks{};
  for (std::size_t i = 0; i < peaks.size(); ++i) peaks[i] = ledger.peak_bytes(static_cast<Category>(i));
  return peaks;
}

std::array<double, kNumCategories> formula(const nn::ModelConfig& config, nn::Recompute recompute) {
  nn::Transformer model(config);
  const Index elements = nn::count_elements(model.parameters());
  return memory_formula(config, {.used = elements,
                                 .owned = elements,
                                 .optimizer_states = 2,
                                 .tokens = 4 * config.context,
                                 .recompute = recompute});
}

/// Wide enough for tensors to outweigh what is rounded up to a cache line.
nn::ModelConfig wide(bool llama) {
  nn::ModelConfig config = testing::tiny_model(llama);
  config.layers = 6;
  config.dim = 96;
  config.ffn_dim = 264;
  config.context = 40;
  return config;
}

TEST(MemoryFormula, IsWhatAStepTakes) {
  // What backward holds on top for a moment: more where less is kept, most of all in a block made again.
  constexpr std::pair<nn::Recompute, double> kShares[] = {
      {nn::Recompute::none, 0.06}, {nn::Recompute::selective, 0.06}, {nn::Recompute::full, 0.2}};
  for (const bool llama : {false, true})
    for (const auto& [recompute, share] : kShares) {
      SCOPED_TRACE(std::string(llama ? "llama " : "gpt ") + nn::to_string(recompute));
      const auto peaks = measured(wide(llama), recompute);
      const auto bytes = formula(wide(llama), recompute);
      const auto at = [&](Category c) { return static_cast<double>(peaks[static_cast<std::size_t>(c)]); };
      const auto of = [&](Category c) { return bytes[static_cast<std::size_t>(c)]; };
      for (const Category exact : {Category::parameter, Category::gradient, Category::optimizer})
        EXPECT_EQ(at(exact), of(exact)) << to_string(exact);
      EXPECT_NEAR(at(Category::activation) / of(Category::activation), 1, share);
      EXPECT_LT(of(Category::scratch), 0) << "no formula";
    }
}

}  // namespace
}  // namespace tessera::dist
