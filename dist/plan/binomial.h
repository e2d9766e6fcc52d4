#pragma once

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

}  // namespace tessera::plan
