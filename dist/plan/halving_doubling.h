#pragma once

#include <vector>

#include "dist/plan/rounds.h"

/// Of a power of two of ranks, groups of 2, 4, 8, ... share a block of what they work on. Halving starts with
/// the whole: in each round two halves of a group exchange what the other keeps, and add. Doubling runs the
/// other way: in each round two groups exchange what they have. Both send as few bytes as a ring in log2
/// instead of linearly many rounds; a ring's messages are all to a neighbour.
///
/// With P the largest power of two <= ranks: if ranks > P, the first 2 (ranks - P) ranks pair up, and the odd
/// one sits out between a first round, which gives its data to the even one, and a last one, which gives it
/// the result. A rank's block then is that of its pair. This costs the pairs up to two more messages with all
/// of the data, so on such numbers of ranks prefer it for small and middle counts.
namespace tessera::plan {

/// Sum of all ranks' buffers, on all ranks: halving, then doubling, of P even shares (Rabenseifner).
///
/// 2 log2(P) messages, 2 count (P-1)/P elements sent and received per rank, plus one of `count` elements each
/// way for paired ranks, which is all an odd one has. Halving starts with neighbours, so that large messages
/// stay near. Each share is summed once, on one rank, then copied: bit-identical on all ranks.
/// @throws std::invalid_argument unless 0 <= rank < ranks and count >= 0.
/// Source: Thakur, Rabenseifner & Gropp 2005, doi:10.1177/1094342005051521.
Rounds halving_doubling_all_reduce(int rank, int ranks, Index count);
Traffic halving_doubling_all_reduce_traffic(int rank, int ranks, Index count);

/// Sum of all ranks' buffers, scattered: rank i ends with its block summed, of sizes[i] elements; blocks lie
/// in order of rank, in a row. Other blocks hold partial sums.
///
/// log2(P) messages per rank, which sends all blocks but its own. An odd rank of a pair sends one message of
/// everything and receives its block.
/// @throws std::invalid_argument for a rank without a block, or a negative size.
/// Source: Thakur, Rabenseifner & Gropp 2005, doi:10.1177/1094342005051521.
Rounds halving_reduce_scatter(int rank, const std::vector<Index>& sizes);
Traffic halving_reduce_scatter_traffic(int rank, const std::vector<Index>& sizes);

/// Copies rank i's block, of sizes[i] elements, to all ranks; blocks lie in order of rank, in a row.
///
/// log2(P) messages per rank, which receives all blocks but its own. An odd rank of a pair sends its block
/// and receives one message of everything.
/// @throws std::invalid_argument for a rank without a block, or a negative size.
/// Source: Thakur, Rabenseifner & Gropp 2005, doi:10.1177/1094342005051521.
Rounds doubling_all_gather(int rank, const std::vector<Index>& sizes);
Traffic doubling_all_gather_traffic(int rank, const std::vector<Index>& sizes);

}  // namespace tessera::plan
