#pragma once

#include <vector>

#include "dist/plan/rounds.h"

/// ceil(log2(ranks)) rounds on any number of ranks: in each, what a rank sends is twice as many blocks as
/// before, or half of all it has, to one peer.
namespace tessera::plan {

/// Copies rank i's block, of sizes[i] elements, to all ranks. The buffer holds the blocks in a row in the
/// order rank, rank + 1, ... (modulo ranks), so the rank's own comes first: no other order lets every message
/// be one range.
///
/// ceil(log2(ranks)) messages per rank, which receives every block but its own. No algorithm has fewer
/// rounds, so prefer it for small counts.
/// @throws std::invalid_argument for a rank without a block, or a negative size.
/// Source: Bruck, Ho, Kipnis, Upfal & Weathersby 1997, doi:10.1109/71.642949.
Rounds bruck_all_gather(int rank, const std::vector<Index>& sizes);
Traffic bruck_all_gather_traffic(int rank, const std::vector<Index>& sizes);

/// Rank i's block j of `size` elements becomes rank j's block i. The buffer holds the blocks for ranks 0, 1,
/// ..., then room for those from ranks 0, 1, ..., then bruck_workspace() elements.
///
/// In a round a rank sends on, in one message, the blocks that have a way to go with that power of two in it:
/// ceil(log2(ranks)) messages, but each block travels as often as its way has bits. For small blocks;
/// pairwise sends each block once. Blocks are packed by copies within the buffer.
/// @throws std::invalid_argument unless 0 <= rank < ranks and size >= 0.
/// Source: Bruck, Ho, Kipnis, Upfal & Weathersby 1997, doi:10.1109/71.642949.
Rounds bruck_all_to_all(int rank, int ranks, Index size);
Traffic bruck_all_to_all_traffic(int rank, int ranks, Index size);
Index bruck_workspace(int ranks, Index size);

}  // namespace tessera::plan
