#pragma once

#include <vector>

#include "dist/comm/collectives.h"
#include "nn/transformer.h"

namespace tessera {

/// A step's collectives without its computing, on memory of their own: the buckets of dist/parallel in the
/// order in which a step of one microbatch sends them.
class StepCommunication {
 public:
  /// @param zero level, sharded over all of `comm`
  StepCommunication(const nn::Transformer& model, const dist::Comm& comm, int zero, Index bucket_bytes,
                    DType dtype, const dist::CollectiveOptions& options);

  /// What can go on beside computing: gradients and, at level 3, the gathers.
  void beside_computing() const;
  /// Level 3: what must be here before the first block computes. Nothing at others.
  void first_gather() const;
  /// Level 3: what starts when all is computed. Nothing at others.
  void last_reduce() const;
  /// Levels 1 and 2: what the update has changed. Nothing at others.
  void after_update() const;

 private:
  using Tensors = std::vector<Tensor>;

  dist::Work reduce(const Tensors& bucket) const;
  dist::Work gather(const Tensors& values) const;
  void fully_sharded() const;
  const Tensors& ends() const { return buckets_.back(); }

  dist::Comm comm_;
  int zero_;
  dist::CollectiveOptions options_;
  std::vector<Tensors> buckets_;  // level 3: the blocks from last to first, then the ends
  Tensors all_;                   // the same memory
};

}  // namespace tessera
