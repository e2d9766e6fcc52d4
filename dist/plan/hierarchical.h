#pragma once

#include <vector>

#include "dist/plan/rounds.h"

/// Within each node, then across nodes, built from the others' rounds: the slow network carries the least
/// there is, and everything else stays on a node.
namespace tessera::plan {

/// The ranks of each node. Nodes may have different numbers of them, and lie in any order.
using Nodes = std::vector<std::vector<int>>;

/// ranks_per_node ranks on each node, in order; on the last what is left.
Nodes nodes_in_order(int ranks, int ranks_per_node);

/// Sum of all ranks' buffers, on all ranks.
///
/// Each node reduce-scatters by ring over the ranks that the smallest node has, at most n; the i-th of all
/// nodes all-reduce the i-th share by halving-doubling; each node all-gathers by ring. Each rank sends about
/// 2 count (n-1)/n elements on its node, and n ranks of a node together 2 count over the network. A share is
/// summed in one place and copied: bit-identical on all ranks.
/// @throws std::invalid_argument unless each rank is on one node, and count >= 0.
/// Source: Jia et al. 2018, arXiv:1807.11205, 4.3 (hierarchical all-reduce).
Rounds hierarchical_all_reduce(int rank, const Nodes& nodes, Index count);
Traffic hierarchical_all_reduce_traffic(int rank, const Nodes& nodes, Index count);

/// Copies the root's buffer to all ranks: binomial over one rank of each node, then on each node.
/// @throws std::invalid_argument unless each rank is on one node, the root among them, and count >= 0.
Rounds hierarchical_broadcast(int rank, const Nodes& nodes, int root, Index count);
Traffic hierarchical_broadcast_traffic(int rank, const Nodes& nodes, int root, Index count);

/// Sum of all ranks' buffers, on the root: the broadcast run backwards.
/// @throws std::invalid_argument unless each rank is on one node, the root among them, and count >= 0.
Rounds hierarchical_reduce(int rank, const Nodes& nodes, int root, Index count);
Traffic hierarchical_reduce_traffic(int rank, const Nodes& nodes, int root, Index count);

/// Copies rank i's block, of sizes[i] elements, to all ranks. The buffer holds blocks in a row in the order
/// of `nodes`.
///
/// Each node gathers to its first rank, those all-gather whole nodes' blocks by ring, each broadcasts all on
/// its node. Each block enters a node once.
/// @throws std::invalid_argument unless each rank is on one node and has a block.
Rounds hierarchical_all_gather(int rank, const Nodes& nodes, const std::vector<Index>& sizes);
Traffic hierarchical_all_gather_traffic(int rank, const Nodes& nodes, const std::vector<Index>& sizes);

/// Sum of all ranks' buffers, scattered: rank i ends with its block summed. The same buffer; the all-gather's
/// stages in reverse order: reduce on each node, reduce-scatter by ring, scatter on each node.
/// @throws std::invalid_argument unless each rank is on one node and has a block.
Rounds hierarchical_reduce_scatter(int rank, const Nodes& nodes, const std::vector<Index>& sizes);
Traffic hierarchical_reduce_scatter_traffic(int rank, const Nodes& nodes, const std::vector<Index>& sizes);

}  // namespace tessera::plan
