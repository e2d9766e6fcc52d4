// What holds for any model: gradients, accumulation, recompute, repeatability.

#include <gtest/gtest.h>

#include "nn/train_step.h"
#include "tensor/autograd.h"
#include "tests/nn/tiny_model.h"
#include "tests/tensor/gradcheck.h"

namespace tessera::nn {
namespace {

using testing::bit_equal;
using testing::relative_error;
using testing::tiny_model;

/// `sequences` of them with 5, 2, 4, 0, 3, ... targets that count.
Batch batch_of(Index sequences) {
  const RandomStream stream(3, "tokens");
  std::vector<std::int32_t> tokens, targets;
  for (Index i = 0; i < sequences * 5; ++i) {
    static constexpr Index kCounts[] = {5, 2, 4, 0, 3};
    tokens.push_back(static_cast<std::int32_t>(stream.below(2 * i, 37)));
    targets.push_back(i % 5 < kCounts[i / 5 % 5] ? static_cast<std::int32_t>(stream.below(2 * i + 1, 37))
                                                 : kIgnore);
  }
  return make_batch(tokens, targets, 5);
}

std::unique_ptr<Transformer> make_model(const ModelConfig& config, DType dtype = DType::f64) {
  auto model = std::make_unique<Transformer>(config);
  model->materialize(11, dtype, 0.2);
  return model;
}

/// Loss and gradients of one step, as training computes them.
struct Gradients {
  double loss;
  std::vector<Tensor> grads;
};

Gradients gradients(Transformer& model, const Batch& batch, Index microbatches = 1) {
  const Parameters parameters = model.parameters();
  zero_grad(parameters);
  const Pass pass = {batch, 5, 9, true};
  Gradients result = {accumulate_gradients(
                          model, split(batch, microbatches), [&] { return batch.num_targets(); }, pass),
                      {}};
  for (const ParameterPtr& p : parameters) result.grads.push_back(testing::grad_or_zero(p->value));
  return result;
}

double worst_error(const Transformer& model, const Gradients& a, const Gradients& b) {
  const Parameters parameters = model.parameters();
  double worst = std::abs(a.loss / b.loss - 1);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i]->name.ends_with("k.bias")) continue;  // zero by symmetry: only noise to compare
    worst = std::max(worst, relative_error(a.grads[i], b.grads[i]));
  }
  return worst;
}

bool all_bit_equal(const Gradients& a, const Gradients& b) {
  return a.loss == b.loss && std::ranges::equal(a.grads, b.grads, [](const Tensor& x, const Tensor& y) {
           return bit_equal(x, y);
         });
}

class Family : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Families, Family, ::testing::Bool(),
                         [](const auto& family) { return family.param ? "Llama" : "Gpt"; });

TEST_P(Family, GradientsEqualDifferences) {
  const auto model = make_model(tiny_model(GetParam(), 0.1));
  const Batch batch = batch_of(2);
  const auto loss = [&](const std::vector<Tensor>&) { return model->loss({batch, 5, 9, true}).sum; };
  std::vector<Tensor> checked;
  for (const ParameterPtr& p : model->parameters()) {
    if (!p->name.ends_with("k.bias")) checked.push_back(p->value);
  }
  // The loss is a sum of some 40 while a gradient may be 1/10: rounding weighs ten times what it does in one
  // op.
  EXPECT_LT(testing::gradient_error(loss, checked, 7), 10 * testing::kGradcheckBound);
}

TEST_P(Family, UnequalMicrobatchesEqualOneBatch) {
  const auto model = make_model(tiny_model(GetParam(), 0.1));
  const Batch batch = batch_of(5);
  const Gradients whole = gradients(*model, batch);
  for (const Index microbatches : {2, 3, 5, 8}) {
    EXPECT_LT(worst_error(*model, gradients(*model, batch, microbatches), whole), 1e-11) << microbatches;
  }
}

TEST_P(Family, EmptyAndIgnoredBatchesGiveZero) {
  const auto model = make_model(tiny_model(GetParam()));
  const Batch ignored = slice(batch_of(4), 3, 4);
  for (const Batch& batch : {slice(batch_of(1), 0, 0), ignored}) {
    const Gradients result = gradients(*model, batch);
    EXPECT_EQ(result.loss, 0);
    for (const Tensor& grad : result.grads) EXPECT_EQ(testing::max_abs(grad), 0);
  }
}

TEST_P(Family, RecomputeIsBitEqual) {
  const Batch batch = batch_of(3);
  for (const DType dtype : {DType::f32, DType::f64}) {
    const auto model = make_model(tiny_model(GetParam(), 0.1), dtype);
    const Gradients plain = gradients(*model, batch);
    for (const Recompute mode : {Recompute::selective, Recompute::full}) {
      model->set_recompute(mode);
      EXPECT_TRUE(all_bit_equal(gradients(*model, batch), plain)) << to_string(mode);
    }
  }
}

TEST_P(Family, TicksChangeNoBits) {
  const auto model = make_model(tiny_model(GetParam(), 0.1), DType::f32);
  const Gradients plain = gradients(*model, batch_of(3));
  int begun = 0, ended = 0;
  const OpObserver observer = {[&](const OpInfo&) { ++begun; }, [&](const OpInfo&) { ++ended; }, [] {}};
  const Scoped<const OpObserver*> scope(context().observer, &observer);
  EXPECT_TRUE(all_bit_equal(gradients(*model, batch_of(3)), plain));
  EXPECT_GT(begun, 50);
  EXPECT_EQ(begun, ended);
}

TEST_P(Family, HooksFireOncePerBackwardWithTheWholeGradient) {
  for (const Recompute mode : {Recompute::none, Recompute::full}) {
    const auto model = make_model(tiny_model(GetParam()));
    model->set_recompute(mode);
    const Gradients expected = gradients(*model, batch_of(2));
    const Parameters parameters = model->parameters();
    std::vector<int> calls(parameters.size());
    std::vector<bool> whole(parameters.size());
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      set_gradient_hook(parameters[i]->value, [&, i] {
        ++calls[i];
        whole[i] = bit_equal(parameters[i]->value.grad(), expected.grads[i]);
      });
    }
    gradients(*model, batch_of(2));
    EXPECT_EQ(calls, std::vector<int>(parameters.size(), 1));
    EXPECT_EQ(whole, std::vector<bool>(parameters.size(), true));
  }
}

TEST_P(Family, DeferredWeightGradientsAreBitEqual) {
  const auto model = make_model(tiny_model(GetParam()));
  const Gradients plain = gradients(*model, batch_of(2));
  DeferredWeightGradients queue;
  zero_grad(model->parameters());
  {
    const DeferredWeightGradients::Scope scope(queue);
    const Batch batch = batch_of(2);
    accumulate_gradients(*model, {batch}, [&] { return batch.num_targets(); }, {batch, 5, 9, true});
  }
  EXPECT_GT(queue.size(), 0U);
  queue.run();
  const Parameters parameters = model->parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_LT(relative_error(testing::grad_or_zero(parameters[i]->value), plain.grads[i]), 1e-11)
        << parameters[i]->name;
  }
}

TEST_P(Family, TwoRunsAreBitEqual) {
  const auto run = [&] {
    const auto model = make_model(tiny_model(GetParam(), 0.1), DType::f32);
    Optimizer optimizer(model->parameters(), {});
    for (Index step = 0; step < 4; ++step)
      train_step(*model, optimizer, batch_of(3), {.clip = 1, .seed = 2, .step = step});
    std::vector<Tensor> result;
    for (const ParameterPtr& p : model->parameters()) result.push_back(p->value.clone());
    return result;
  };
  EXPECT_TRUE(
      std::ranges::equal(run(), run(), [](const Tensor& a, const Tensor& b) { return bit_equal(a, b); }));
}

TEST(Transformer, DropoutMasksFollowTheGlobalSequence) {
  const auto model = make_model(tiny_model(false, 0.3));
  const Batch batch = batch_of(4);
  const auto hidden = [&](const Batch& part) { return model->hidden({part, 5, 9, true}).detach(); };
  const NoGrad no_grad;
  EXPECT_TRUE(bit_equal(hidden(batch).slice(2, 4), hidden(slice(batch, 2, 4))));
}

TEST(Transformer, EvaluatesAsOneSumOverOneCount) {
  const auto model = make_model(tiny_model(false));
  const Batch batch = batch_of(5);
  EXPECT_NEAR(evaluate(*model, split(batch, 4)), evaluate(*model, {batch}), 1e-12);
}

TEST(Transformer, RefusesALongerSequenceThanItsContext) {
  const auto model = make_model(tiny_model(false));
  const Batch batch = make_batch({1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6}, 6);
  EXPECT_THROW(model->loss({batch}), std::invalid_argument);
}

TEST(TrainStep, UpdatesNothingWhenALossIsNotFinite) {
  const auto model = make_model(tiny_model(false));
  const ParameterPtr weight = model->parameters().front();
  weight->value.data<double>()[0] = std::nan("");
  const Tensor before = model->parameters().back()->value.clone();
  Optimizer optimizer(model->parameters(), {});
  const Batch batch = batch_of(2);
  std::ranges::fill(batch.tokens.span<std::int32_t>(), 0);
  EXPECT_THROW(train_step(*model, optimizer, batch, {}), NonFiniteError);
  EXPECT_TRUE(bit_equal(model->parameters().back()->value, before));
  EXPECT_EQ(optimizer.steps(), 0);
}

}  // namespace
}  // namespace tessera::nn
