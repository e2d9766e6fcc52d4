#pragma once

#include <map>

#include "dist/comm/collectives.h"
#include "dist/comm/mesh.h"
#include "dist/parallel/placement.h"

namespace tessera::dist {

/// The one place that finishes gradients, whatever the strategies: the placement table says what is left to
/// do.
class GradientFinaliser {
 public:
  /// Makes the communicators it needs, so it is collective over the mesh. @throws std::logic_error as
  /// check_complete().
  GradientFinaliser(const Mesh& mesh, PlacementTable table, CollectiveOptions options);

  /// Sums each gradient over the axes where it is partial, and sets owned_grad; a gradient that no backward
  /// reached is zero.
  ///
  /// Collective. One all_reduce per set of axes, over all its gradients as one buffer: 2(n-1)/n of its bytes
  /// sent per rank by ring. Bit-identical on all replicas.
  void finish() const;

  /// Norm of the gradients of the unique parameters: squares are summed over the axes that shard them;
  /// replicas count once.
  ///
  /// Collective: one all_reduce of one f64 per set of sharding axes. The same bits on all ranks.
  double norm() const;

 private:
  /// Parameters that need the same sums, in the order of the model, which is every rank's.
  struct Group {
    Comm comm;  // undefined: nothing to sum
    nn::Parameters parameters;
  };
  std::vector<Group> groups(const Mesh& mesh, const std::string& purpose,
                            const std::function<Grid::Names(const nn::ParameterPtr&)>& axes) const;

  PlacementTable table_;
  CollectiveOptions options_;
  std::vector<Group> by_partial_, by_sharded_;
};

}  // namespace tessera::dist
