// A parameter's hook is called once per backward, when its gradient is complete, deferred shares included.

#include <gtest/gtest.h>

#include "tests/tensor/hook_log.h"

namespace tessera {
namespace {

using namespace testing;

using Leaves = std::vector<const Tensor*>;

TEST(GradientHook, IsCalledOncePerBackwardWhenComplete) {
  const Model model;
  HookLog log;
  model.watch(log);
  backward(model.loss());
  EXPECT_EQ(log.order(), (Leaves{&model.down, &model.up, &model.bias, &model.norm, &model.w}))
      << "last use first; w last, its embedding comes after its head";
  EXPECT_TRUE(log.all_complete());

  log.calls.clear();
  backward(model.loss());
  EXPECT_EQ(log.calls.size(), 5U);
  EXPECT_TRUE(log.all_complete()) << "with the sum of both";
}

TEST(GradientHook, CountsUsesByOneOpAndByMany) {
  const Tensor x = normal({3}, "x").require_grad(), z = normal({3}, "z").require_grad();
  HookLog log;
  log.watch(x);
  log.watch(z);
  backward(add(add(add(x, x), z), x), normal({3}, "dy"));
  EXPECT_EQ(log.count(x), 1);
  EXPECT_EQ(log.count(z), 1);
  EXPECT_TRUE(log.all_complete());
}

TEST(GradientHook, OfAnUnusedParameterSeesZero) {
  const Model model;
  const Tensor unused = normal({2, 3}, "unused", 1, DType::f32).require_grad();
  const Tensor frozen = normal({2}, "frozen");
  HookLog log;
  model.watch(log);
  log.watch(unused);
  const std::vector<Tensor> listed = {unused, model.w, model.up, frozen};
  backward(model.loss(), 1, listed);
  EXPECT_EQ(log.count(unused), 1);
  EXPECT_EQ(log.order().back(), &unused);
  EXPECT_TRUE(bit_equal(unused.grad(), Tensor::zeros({2, 3}, DType::f32)));
  EXPECT_EQ(log.count(model.w), 1);
  EXPECT_EQ(log.calls.size(), 6U);
}

TEST(GradientHook, BelongsToALeaf) {
  const Tensor x = normal({3}, "x").require_grad();
  EXPECT_NE(error_of([&] { set_gradient_hook(add(x, x), [] {}); }), "");
  EXPECT_NE(error_of([&] { set_gradient_hook(x.detach(), [] {}); }), "");
}

class Deferred : public ::testing::TestWithParam<bool> {
 protected:
  static Tensor loss(const Model& model) { return GetParam() ? model.recomputed_loss() : model.loss(); }
};
INSTANTIATE_TEST_SUITE_P(WeightGradients, Deferred, ::testing::Bool(),
                         [](const auto& recomputed) { return recomputed.param ? "Recomputed" : "Plain"; });

TEST_P(Deferred, HoldHooksUntilRun) {
  const Model plain, model;
  HookLog log;
  model.watch(log);
  DeferredWeightGradients queue;
  {
    const DeferredWeightGradients::Scope scope(queue);
    backward(loss(model));
  }
  EXPECT_EQ(queue.size(), 3U) << "up with its bias, down, and w as the head";
  EXPECT_EQ(log.order(), (Leaves{&model.norm})) << "the norm's weight alone was no product's";
  EXPECT_FALSE(model.up.grad().defined());
  queue.run();
  EXPECT_EQ(queue.size(), 0U);
  EXPECT_EQ(log.calls.size(), 5U);
  EXPECT_TRUE(log.all_complete());

  backward(plain.loss());
  EXPECT_TRUE(bit_equal(model.up.grad(), plain.up.grad()));
  EXPECT_TRUE(bit_equal(model.bias.grad(), plain.bias.grad()));
  EXPECT_TRUE(bit_equal(model.down.grad(), plain.down.grad()));
  EXPECT_LE(relative_error(model.w.grad(), plain.w.grad()), 1e-14)
      << "its two shares were added in the other order";
}

TEST_P(Deferred, QueueSeveralBackwards) {
  const Model plain, model;
  HookLog log;
  model.watch(log);
  DeferredWeightGradients queue;
  {
    const DeferredWeightGradients::Scope scope(queue);
    backward(loss(model));
    backward(loss(model), 0.5);
  }
  EXPECT_EQ(queue.size(), 6U);
  EXPECT_EQ(log.calls.size(), 2U) << "the norm's, twice";
  queue.run();
  for (const Tensor* p : {&model.w, &model.norm, &model.up, &model.bias, &model.down}) {
    EXPECT_EQ(log.count(*p), 2);
    const auto last = std::ranges::find(log.calls.rbegin(), log.calls.rend(), p, &HookLog::Call::leaf);
    EXPECT_TRUE(bit_equal(last->gradient, p->grad())) << "complete at the last call";
  }
  backward(plain.loss());
  backward(plain.loss(), 0.5);
  const auto gradients = model.parameters(), expected = plain.parameters();
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_LE(relative_error(gradients[i].grad(), expected[i].grad()), 1e-14) << "parameter " << i;
}

// A weight that is itself computed cannot wait: its own backward needs the gradient now.
TEST(DeferredWeightGradients, OfComputedWeightsDoNotWait) {
  const Tensor w = normal({5, 5}, "w").require_grad(), x = normal({3, 5}, "x");
  DeferredWeightGradients queue;
  const DeferredWeightGradients::Scope scope(queue);
  backward(linear(x, gelu(w)), normal({3, 5}, "dy"));
  EXPECT_EQ(queue.size(), 0U);
  EXPECT_TRUE(w.grad().defined());
}

TEST(OnBackward, IsCalledBeforeWhatMadeIt) {
  const Tensor x = normal({3}, "x").require_grad(), w = normal({3}, "w").require_grad();
  std::vector<std::string> calls;
  const auto note = [&](const char* what) { return [&calls, what] { calls.push_back(what); }; };
  set_gradient_hook(x, note("x"));
  set_gradient_hook(w, note("w"));
  Tensor y = add(x, x);
  const auto* memory = y.data<double>();
  y = on_backward(std::move(y), note("arrived"));
  EXPECT_EQ(y.data<double>(), memory);
  EXPECT_TRUE(y.unique());
  backward(add(std::move(y), w), normal({3}, "dy"));
  EXPECT_EQ(calls, (std::vector<std::string>{"w", "arrived", "x"}));
  for (Index i = 0; i < 3; ++i)
    EXPECT_EQ(x.grad().data<double>()[i], 2 * normal({3}, "dy").data<double>()[i]);
}

TEST(OnBackward, OfWhatWantsNoGradientIsNothing) {
  const Tensor x = normal({3}, "x");
  EXPECT_FALSE(on_backward(x, [] { FAIL(); }).wants_grad());
}

}  // namespace
}  // namespace tessera
