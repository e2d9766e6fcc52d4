// The engine itself, on ops of the test's own: what is added where, how often, and what is left alone.

#include "tensor/autograd.h"

#include <gtest/gtest.h>

#include "tensor/ops.h"
#include "tests/tensor/gradcheck.h"

namespace tessera {
namespace {

using namespace testing;

Tensor scalar(double value) { return Tensor::from<double>({1}, {value}); }
Tensor leaf(double value) { return scalar(value).require_grad(); }

/// factor * x. `ran` is called by its backward.
Tensor scaled(const Tensor& x, double factor, std::function<void()> ran = {}) {
  const auto times = [factor](const Tensor& t) { return scalar(factor * t.item()); };
  return record(times(x), {x}, [=, x = x.slot_only()](Tensor dy) {
    if (ran) ran();
    add_grad(x, times(dy));
  });
}

TEST(Backward, SumsOverAllPaths) {
  const Tensor x = leaf(1);
  const Tensor a = scaled(x, 2), b = scaled(x, 3), diamond = add(a, b);
  backward(add(scaled(diamond, 10), a));
  EXPECT_EQ(x.grad().item(), 10 * (2 + 3) + 2);
}

TEST(Backward, RunsEachNodeOnceAfterAllItsUses) {
  const Tensor x = leaf(1);
  int runs = 0;
  Tensor y = scaled(x, 1, [&] { ++runs; });
  for (int i = 0; i < 40; ++i) y = add(y, y);  // 2^40 paths
  backward(y);
  EXPECT_EQ(x.grad().item(), std::pow(2, 40));
  EXPECT_EQ(runs, 1);
}

TEST(Backward, AddsToEarlierBackwards) {
  const Tensor x = leaf(1);
  backward(scaled(x, 2));
  backward(scaled(x, 3), 10);
  EXPECT_EQ(x.grad().item(), 32);
  x.zero_grad();
  EXPECT_FALSE(x.grad().defined());
  backward(scaled(x, 5));
  EXPECT_EQ(x.grad().item(), 5);
}

TEST(Backward, TakesTheGradientOfAnyShape) {
  const Tensor x = normal({3, 5}, "x").require_grad(), dy = normal({3, 5}, "dy"), before = dy.clone();
  backward(add(x, x), dy);
  for (Index i = 0; i < x.numel(); ++i) EXPECT_EQ(x.grad().data<double>()[i], 2 * dy.data<double>()[i]);
  EXPECT_TRUE(bit_equal(dy, before)) << "the caller's gradient is the caller's";
}

// add hands one dy to both inputs without a copy; whoever adds to it must take its own.
TEST(Backward, SharedGradientsDoNotLeak) {
  const Tensor x = leaf(1), z = leaf(1);
  const Tensor a = scaled(x, 1), b = scaled(z, 1);
  // a receives the outer dy first, then adds the inner one, while b still shares it.
  backward(add(add(a, b), a));
  EXPECT_EQ(x.grad().item(), 2);
  EXPECT_EQ(z.grad().item(), 1);

  const Tensor u = leaf(1), v = leaf(1);
  backward(add(add(add(u, v), u), v));
  backward(scaled(u, 10));
  EXPECT_EQ(u.grad().item(), 12);
  EXPECT_EQ(v.grad().item(), 2);
}

TEST(Backward, ReachesOnlyWhatWantsAGradient) {
  const Tensor x = leaf(1), frozen = scalar(1);
  const Tensor cut = scaled(x, 2).detach();
  backward(add(add(scaled(x, 3), frozen), cut));
  EXPECT_EQ(x.grad().item(), 3);
  EXPECT_FALSE(frozen.grad().defined());
}

TEST(Backward, FreesTheGraphOnTheWay) {
  const Tensor x = normal({100, 50}, "x").require_grad(), w = normal({50, 50}, "w", 0.1);
  const auto live = [] { return context().ledger.current_bytes(Category::activation); };
  const Index before = live();
  Tensor y = x;
  for (int i = 0; i < 10; ++i) y = linear(y, w);
  const Index forward = live();
  EXPECT_EQ(forward, before + 10 * y.bytes());
  context().ledger.reset_peaks();
  backward(y, normal({100, 50}, "dy"));
  EXPECT_LE(context().ledger.peak_bytes(Category::activation), forward + 3 * y.bytes())
      << "not one gradient per op";
  EXPECT_EQ(live(), before + y.bytes());
}

// No walk over a graph may recurse: 100 000 ops would need more stack than there is.
TEST(DeepGraph, RunsBackwardAndIsFreed) {
  const Tensor x = leaf(1);
  Tensor y = x;
  for (int i = 0; i < 100000; ++i) y = scaled(y, 1);
  backward(y, 3);
  EXPECT_EQ(x.grad().item(), 3);
}

TEST(DeepGraph, IsFreedWithoutBackward) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto build_and_free = [] {
    Tensor y = leaf(1);
    for (int i = 0; i < 400000; ++i) y = scaled(y, 1);
    y = Tensor();
    std::exit(0);
  };
  EXPECT_EXIT(build_and_free(), ::testing::ExitedWithCode(0), "");
}

TEST(NoGrad, RecordsNothing) {
  const Tensor x = leaf(1);
  {
    const NoGrad no_grad;
    EXPECT_FALSE(scaled(x, 2).wants_grad());
    EXPECT_FALSE(add(x, x).wants_grad());
  }
  EXPECT_TRUE(scaled(x, 2).wants_grad());
  EXPECT_FALSE(scaled(scalar(1), 2).wants_grad());
}

TEST(NoGrad, HoldsInsideBackward) {
  const Tensor x = leaf(1);
  bool enabled = true;
  backward(scaled(x, 2, [&] { enabled = context().grad_enabled; }));
  EXPECT_FALSE(enabled);
  EXPECT_TRUE(context().grad_enabled);
}

TEST(Backward, RefusesWhatHasNoGradient) {
  const Tensor x = normal({2, 3}, "x").require_grad();
  EXPECT_NE(error_of([&] { backward(add(x, x)); }).find("[2, 3]"), std::string::npos);
  EXPECT_NE(error_of([&] { backward(scalar(1)); }), "");
  const std::string text = error_of([&] { backward(add(x, x), normal({3, 2}, "dy")); });
  EXPECT_NE(text.find("[2, 3]"), std::string::npos);
  EXPECT_NE(text.find("[3, 2]"), std::string::npos);
  EXPECT_NE(error_of([&] { backward(add(x, x), normal({2, 3}, "dy", 1, DType::f32)); }), "");
}

// A second backward through the same ops would reach no leaf, and lose its gradient without a word.
TEST(Backward, RefusesAGraphThatIsFreed) {
  const Tensor x = leaf(1);
  const Tensor trunk = scaled(x, 2), first = scaled(trunk, 3), second = scaled(trunk, 5);
  backward(first);
  EXPECT_NE(error_of([&] { backward(second); }), "");
}

// An op that throws ends backward; the context is as before, and the next graph is not disturbed.
TEST(Backward, SurvivesAnException) {
  const Tensor x = leaf(1);
  const Tensor y = scaled(scaled(x, 2), 3, [] { throw std::runtime_error("no luck"); });
  EXPECT_THROW(backward(y), std::runtime_error);
  EXPECT_TRUE(context().grad_enabled);
  EXPECT_EQ(context().run, nullptr);
  EXPECT_FALSE(x.grad().defined());
  backward(scaled(x, 5));
  EXPECT_EQ(x.grad().item(), 5);
}

}  // namespace
}  // namespace tessera
