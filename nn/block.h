#pragma once

#include <functional>

#include "nn/batch.h"
#include "nn/layers.h"
#include "tensor/random.h"

namespace tessera::nn {

/// Activation checkpointing of a block: keep everything; compute norms and the MLP's activation again in
/// backward, but no GEMM; or keep the block's input only.
enum class Recompute { none, selective, full };
const char* to_string(Recompute recompute);
Recompute recompute_from(const std::string& name);

/// One pass over a batch: what layers need besides their input.
struct Pass {
  const Batch& batch;
  std::uint64_t seed = 0;  ///< of dropout
  Index step = 0;          ///< of dropout
  bool training = false;   ///< dropout is off otherwise
};

/// Attention over the heads held here: (q [B, T, H D], k, v [B, T, K D], positions [T]) -> [B, T, H D],
/// causal.
using AttentionCore =
    std::function<Tensor(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& positions)>;

/// out(core(rope(q(x)), rope(k(x)), v(x))). Head counts follow from the layers' widths, so a layer that holds
/// some of the heads needs no other change.
struct Attention {
  Attention(const std::string& name, const ModelConfig& config);
  Tensor forward(const Tensor& x, const Pass& pass);
  void collect(Parameters& into) const;

  Layer q, k, v, out;
  AttentionCore core;
  Index head_dim;
  double rope_base;  ///< 0: no rotation
};

/// x + attention(norm1(x)), then + mlp(norm2(.)), each branch with dropout.
class Block {
 public:
  Block(Index index, const ModelConfig& config);
  /// after(forward in the block's recompute mode), with before() ahead of it. @param x [B, T, dim]
  Tensor forward(const Tensor& x, const Pass& pass);
  void collect(Parameters& into) const;
  Parameters parameters() const;
  /// none and selective differ in what is freed after forward; full makes the block one node.
  void set_recompute(Recompute recompute);

  std::string name;  ///< "blocks.3", global
  Layer norm1, norm2;
  Attention attention;
  Layer mlp;
  double dropout;
  /// What a strategy does around the block's forward; `after` may return another tensor than it is given.
  std::function<void()> before = [] {};
  std::function<Tensor(Tensor y)> after = [](Tensor y) { return y; };

 private:
  Tensor checkpointed(const Tensor& x, const Pass& pass);
  Tensor body(const Tensor& x, const Pass& pass);
  Tensor drop(Tensor x, const char* where, const Pass& pass) const;

  Recompute recompute_ = Recompute::none;
};

}  // namespace tessera::nn
