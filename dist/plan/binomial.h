#pragma once

#include <vector>

#include "dist/plan/rounds.h"

/// Trees in which the number of ranks that hold the data doubles in every round. Counted from the root, rank
/// v has children v + 1, v + 2, v + 4, ... below its lowest set bit. A broadcast starts with the long
/// distances, so where each 2^n ranks from the root on share a node, a node gets the data once.
namespace tessera::plan {

/// Copies the root's buffer to all ranks.
///
/// L = ceil(log2(ranks)) rounds. Every rank but the root receives one message of `count` elements; the root
/// sends L of them, and rank root + v (modulo ranks) sends min(trailing zeros of v, ceil(log2(ranks - v))).
/// No algorithm has fewer rounds, so prefer it for small counts; a large one crosses L links in turn, where
/// scatter and all-gather take the time of two.
/// @throws std::invalid_argument unless 0 <= rank, root < ranks and count >= 0.
/// Source: Thakur, Rabenseifner & Gropp 2005, doi:10.1177/1094342005051521.
Rounds binomial_broadcast(int rank, int ranks, int root, Index count);
Traffic binomial_broadcast_traffic(int rank, int ranks, int root, Index count);

/// Sum of all ranks' buffers, on the root; the other ranks end with partial sums.
///
/// The broadcast run backwards: its rounds in reverse order, and its traffic with sent and received
/// exchanged. The order of the sum depends on ranks and root alone, so a root's result is reproducible, but
/// another root's may differ.
/// @throws std::invalid_argument unless 0 <= rank, root < ranks and count >= 0.
/// Source: Thakur, Rabenseifner & Gropp 2005, doi:10.1177/1094342005051521.
Rounds binomial_reduce(int rank, int ranks, int root, Index count);
Traffic binomial_reduce_traffic(int rank, int ranks, int root, Index count);

/// Sum of all ranks' buffers, on all ranks: reduce to rank 0, then broadcast. A tree's depth twice over, and
/// every message is of `count` elements; recursive doubling takes half the rounds.
/// @throws std::invalid_argument unless 0 <= rank < ranks and count >= 0.
Rounds binomial_all_reduce(int rank, int ranks, Index count);
Traffic binomial_all_reduce_traffic(int rank, int ranks, Index count);

/// The root's blocks go to their ranks: rank i ends with its block, of sizes[i] elements. The buffer holds
/// the blocks in a row in the order root, root + 1, ... (modulo ranks), so that those of a subtree are one
/// range; blocks that pass through a rank stay in their places.
///
/// The broadcast's messages, each with the blocks of the subtree it enters; none if they are empty.
/// @throws std::invalid_argument for a rank or root without a block, or a negative size.
/// Source: Thakur, Rabenseifner & Gropp 2005, doi:10.1177/1094342005051521.
Rounds binomial_scatter(int rank, int root, const std::vector<Index>& sizes);
Traffic binomial_scatter_traffic(int rank, int root, const std::vector<Index>& sizes);

/// The ranks' blocks go to the root: the scatter, on the same buffer, run backwards.
/// @throws std::invalid_argument for a rank or root without a block, or a negative size.
/// Source: Thakur, Rabenseifner & Gropp 2005, doi:10.1177/1094342005051521.
Rounds binomial_gather(int rank, int root, const std::vector<Index>& sizes);
Traffic binomial_gather_traffic(int rank, int root, const std::vector<Index>& sizes);

}  // namespace tessera::plan
