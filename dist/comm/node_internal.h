#pragma once

#include <array>
#include <vector>

#include "tensor/shape.h"

namespace tessera::dist {

/// Where a rank runs: what it tells the others.
struct Place {
  Index node_key = 0;             ///< equal on ranks that share a node, and unlikely to be so on others
  std::array<Index, 16> cores{};  ///< one bit for each that the rank may use
};
Place this_place();

/// Number of each rank's node: the first rank there.
std::vector<int> nodes_of(const std::vector<Place>& places);
/// Cores that the ranks on `rank`'s node may use, together. Not their number in one rank's mask: a launcher
/// may have bound each to its own.
int cores_on_node(const std::vector<Place>& places, int rank);

}  // namespace tessera::dist
