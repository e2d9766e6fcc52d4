// What backward computes again has the same bits, saves memory, and is one use of its parameters.

#include <gtest/gtest.h>

#include "tests/tensor/hook_log.h"

namespace tessera {
namespace {

using namespace testing;

TEST(Recompute, IsBitEqualAndCallsEachHookOnce) {
  const Model plain, model;
  HookLog log;
  model.watch(log);
  const Tensor expected = plain.loss(), loss = model.recomputed_loss();
  EXPECT_TRUE(bit_equal(loss.detach(), expected.detach()));
  backward(expected);
  backward(loss);
  expect_equal_gradients(model, plain);
  for (const Tensor* p : {&model.w, &model.norm, &model.up, &model.bias, &model.down})
    EXPECT_EQ(log.count(*p), 1);
  EXPECT_TRUE(log.all_complete());
}

TEST(Recompute, Nests) {
  const Model plain, model;
  HookLog log;
  model.watch(log);
  const auto block = [&](const Tensor& x) { return model.block(x); };
  const auto inner = [&](const Tensor& x) { return recompute(block, block(x), model.block_parameters()); };
  const auto outer = [&](const Tensor& x) { return recompute(inner, x, model.block_parameters()); };
  const auto plain_block = [&](const Tensor& x) { return plain.block(plain.block(x)); };
  backward(plain.loss(plain_block));
  backward(model.loss(outer));
  expect_equal_gradients(model, plain);
  EXPECT_EQ(log.calls.size(), 5U);
  EXPECT_TRUE(log.all_complete());
}

// A parameter used inside and outside, and one that the body only claims to use.
TEST(Recompute, SharesParametersWithTheRest) {
  const Tensor w = normal({5, 5}, "w").require_grad(), idle = normal({2}, "idle").require_grad();
  const Tensor x = normal({3, 5}, "x");  // wants no gradient, as a first block's input
  const auto body = [&](const Tensor& inner) { return gelu(linear(inner, w)); };
  HookLog log;
  log.watch(w);
  log.watch(idle);
  backward(linear(recompute(body, linear(x, w), {w, idle}), w), normal({3, 5}, "dy"));
  const Tensor tied = w.grad();
  EXPECT_EQ(log.calls.size(), 2U);
  EXPECT_TRUE(log.all_complete());
  EXPECT_EQ(max_abs(idle.grad()), 0);

  w.zero_grad();
  backward(linear(body(linear(x, w)), w), normal({3, 5}, "dy"));
  EXPECT_TRUE(bit_equal(tied, w.grad()));

  w.zero_grad();
  const Tensor first = recompute(body, x, {w});
  backward(first, normal({3, 5}, "dy"));
  EXPECT_TRUE(w.grad().defined());
}

TEST(Recompute, SavesItsInputOnly) {
  const Tensor w = normal({50, 50}, "w").require_grad(), x = normal({100, 50}, "x");
  const auto live = [] { return context().ledger.current_bytes(Category::activation); };
  const auto body = [&](const Tensor& inner) { return gelu(gelu(gelu(linear(inner, w)))); };
  const Index before = live();
  const Tensor y = recompute(body, x, {w});
  EXPECT_EQ(live() - before, y.bytes());
  const NoGrad no_grad;
  EXPECT_FALSE(recompute(body, x, {w}).wants_grad());
}

TEST(Discard, BackwardComputesItAgain) {
  const Model plain, model;
  const auto live = [] { return context().ledger.current_bytes(Category::activation); };
  const Tensor loss = model.loss([&](const Tensor& x) {
    const Tensor n = rms_norm(x, model.norm, 1e-5), h = linear(n, model.up, model.bias), g = gelu(h);
    const Tensor y = add(linear(g, model.down), x);
    const Index before = live();
    discard(n);
    discard(g);
    EXPECT_EQ(before - live(), n.bytes() + g.bytes());
    discard(h);  // a product costs too much to compute again: nothing
    EXPECT_FALSE(h.storage()->released());
    return y;
  });
  backward(loss);
  backward(plain.loss());
  expect_equal_gradients(model, plain);
}

}  // namespace
}  // namespace tessera
