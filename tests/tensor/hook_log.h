#pragma once

// A model in little whose parameters' hooks are written down: for tests of hooks, recomputation and deferral.

#include <gtest/gtest.h>

#include <algorithm>

#include "tensor/ops.h"
#include "tests/tensor/gradcheck.h"

namespace tessera::testing {

/// The calls of some leaves' hooks, in order, each with the gradient at that moment.
class HookLog {
 public:
  /// `leaf` must outlive the log's use: a hook that held it would keep it alive for ever.
  void watch(const Tensor& leaf) {
    set_gradient_hook(leaf, [this, &leaf] { calls.push_back({&leaf, leaf.grad().clone()}); });
  }
  Index count(const Tensor& leaf) const { return std::ranges::count(calls, &leaf, &Call::leaf); }
  bool all_complete() const {
    return std::ranges::all_of(calls,
                               [](const Call& call) { return bit_equal(call.gradient, call.leaf->grad()); });
  }
  std::vector<const Tensor*> order() const {
    std::vector<const Tensor*> result;
    for (const Call& call : calls) result.push_back(call.leaf);
    return result;
  }

  struct Call {
    const Tensor* leaf;
    Tensor gradient;
  };
  std::vector<Call> calls;
};

/// A token model in little: w is its embedding and its head, so used twice; up and down make its block.
struct Model {
  Tensor w = normal({7, 5}, "w").require_grad(), norm = normal({5}, "norm").require_grad();
  Tensor up = normal({11, 5}, "up").require_grad(), bias = normal({11}, "bias").require_grad();
  Tensor down = normal({5, 11}, "down").require_grad();
  Tensor tokens = ints({0, 3, 3, 6}), targets = ints({3, 3, 6, -1});

  std::vector<Tensor> parameters() const { return {w, norm, up, bias, down}; }
  std::vector<Tensor> block_parameters() const { return {norm, up, bias, down}; }

  Tensor block(const Tensor& x) const {
    return add(linear(gelu(linear(rms_norm(x, norm, 1e-5), up, bias)), down), x);
  }
  using Block = std::function<Tensor(const Tensor&)>;
  Tensor loss(const Block& run_block) const {
    return cross_entropy(linear(run_block(embedding(tokens, w)), w), targets);
  }
  Tensor loss() const {
    return loss([this](const Tensor& x) { return block(x); });
  }
  Tensor recomputed_loss() const {
    return loss([this](const Tensor& x) {
      return recompute([this](const Tensor& inner) { return block(inner); }, x, block_parameters());
    });
  }
  void watch(HookLog& log) const {
    for (const Tensor* p : {&w, &norm, &up, &bias, &down}) log.watch(*p);
  }
};

/// The gradients of the model's parameters equal those of another's, bit for bit.
inline void expect_equal_gradients(const Model& a, const Model& b) {
  const auto as = a.parameters(), bs = b.parameters();
  for (std::size_t i = 0; i < as.size(); ++i)
    EXPECT_TRUE(bit_equal(as[i].grad(), bs[i].grad())) << "parameter " << i;
}

}  // namespace tessera::testing
