#pragma once

#include <memory>

#include "dist/comm/collectives.h"
#include "dist/comm/mesh.h"
#include "nn/transformer.h"

namespace tessera::dist {

/// ZeRO level 3: between uses a rank holds its own rows and no more. A block's parameters are gathered just
/// before its forward and released right after, and gathered again for its backward; the next block is
/// gathered while this one computes. The last block, which backward begins with, and the ends (embeddings,
/// last norm, head) stay from forward to backward. Zhao et al. 2023, arXiv:2304.11277.
///
/// Sent per microbatch and rank, n ranks, P elements, K of them kept, by ring: (2P - K) (n-1)/n to gather;
/// the gradient finaliser sends P (n-1)/n more. Two blocks are here at a time, and the ends.
class FullySharded {
 public:
  /// Swaps what surrounds the model's blocks, and its ends; its parameters have storage, owned rows apart.
  /// Collective over the mesh.
  /// @param overlap whether the next block is gathered while one computes; else when it is needed.
  FullySharded(nn::Transformer& model, const Axis& shard, const CollectiveOptions& options, bool overlap);

  /// After a microbatch's backward: nothing of what was gathered stays.
  void release_all() const;
  /// Elements that stay from forward to backward: the K above.
  Index num_kept() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace tessera::dist
