#pragma once

#include <map>
#include <string>
#include <vector>

#include "dist/comm/grid.h"

namespace tessera::dist {

/// How many ranks share the work along each axis. pp, dp, cp and tp multiply to the number of ranks.
struct Degrees {
  int pp = 1;
  int dp = 0;  ///< 0: what the others leave
  int cp = 1;
  int tp = 1;
  int ep = 1;     ///< of dp x cp, the inner part over which experts are spread
  int shard = 0;  ///< of dp, the inner part that shards what the outer part replicates; 0: all of dp
};
/// "pp=1 dp=2 cp=1 tp=2", then ep and shard where they say something.
std::string to_string(const Degrees& degrees);
/// Whether dp is a product of replicate and shard that both exceed 1. @param degrees complete
bool hybrid(const Degrees& degrees);

/// `degrees` with dp and shard filled in. @throws std::invalid_argument with all values if they do not make
/// up `ranks`, shard does not divide dp, or ep is no inner part of dp x cp.
Degrees complete(Degrees degrees, int ranks);

/// What the axes of a mesh are made of: any two of them differ, overlap or contain each other by whole atomic
/// axes.
struct Axes {
  std::vector<AtomicAxis> atomic;              ///< outer to inner
  std::map<std::string, Grid::Names> named{};  ///< outer to inner; empty: the axis has one rank
};

/// Atomic axes, outer to inner: pp, dp, cp, tp. dp is replicate and shard where both exceed 1, and where ep
/// ends inside an axis x, that one is x.outer and x.inner.
///
/// Named axes: pp, dp, cp, tp; replicate and shard, whose product is dp; ep and edp, whose product is dp x
/// cp: along ep experts differ, along edp they have their replicas.
/// @param degrees complete
/// @throws std::invalid_argument if ep cuts across axes: every one it meets must divide it, or be divided.
Axes factor(const Degrees& degrees);

/// The named axes to tell people of: pp, dp, cp, tp, with replicate and shard, ep and edp where these differ
/// from them.
Grid::Names told_axes(const Degrees& degrees);

}  // namespace tessera::dist
